"""The verdict of a check: what is compared, what is asked for, and what a failure says."""

import re
import zlib
from collections.abc import Callable, Collection, Hashable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from lessons.course.lesson import Check, Lesson
from lessons.grading.advice.amounts import other_amount
from lessons.grading.advice.comparison import (
    Clues,
    Comparison,
    Threads,
    differing,
    first_wrong,
)
from lessons.grading.advice.diagnosis import Candidates, diagnose
from lessons.grading.advice.messages import quoted, short_number
from lessons.grading.advice.untouched import left_as_it_was
from lessons.grading.advice.written_again import BY_SEVERAL, why_again
from lessons.grading.checks.answers import Returned, calls_of_rows
from lessons.grading.checks.inputs import Inputs
from lessons.grading.checks.not_numbers import LastRun, why_nan
from lessons.grading.checks.ruled_out import RightRuns, came_out_right, would_show
from lessons.grading.exchange.counts import Counts
from lessons.grading.exchange.output import Output, sentinel_of
from lessons.grading.pictures.evidence import Evidence
from lessons.grading.pictures.replay import replay_of_wrong
from lessons.grading.supervisor.worker_process import WorkerProcess
from lessons.grading.untrusted.clues import (
    adds_one_to_a_thread,
    asks_for_ends,
    exchanges_later,
    stores_at_a_block,
    swaps_once,
)
from lessons.grading.untrusted.loops import has_conditions, only_loop_around, stores_in_loops
from lessons.grading.untrusted.submission import (
    Submission,
    adds_atomically,
    adds_to_elements,
    counts_blocks,
    functions_of,
    numbers_as_usual,
    own_launch,
    steps_by_blocks,
)


class CheckEnded(Exception):
    """A check is decided, and not passed."""

    def __init__(self, status: str, diagnosis: str, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.diagnosis = diagnosis


class Verdict(Inputs):
    """Compares what the last run has left, and ends the check if it is wrong.

    seed: decides all random inputs. pictures: the folder for pictures of a failure, None for none.
    """

    def __init__(
        self, lesson: Lesson, check: Check, submission: Submission, seed: int, pictures: Path | None
    ) -> None:
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        super().__init__([seed, zlib.crc32(f"{lesson.name} {check.name}".encode())])
        self.lesson = lesson
        self.check = check
        self.submission = submission
        self.evidence = Evidence(lesson, check, pictures)
        self.right = RightRuns()  # of this check, so far
        self.brief = False  # whether nobody reads why a check fails
        self.notes: list[str] = []  # how a check that passes compares with ours
        self.last_run, self.last_backend = "nothing was run", ""
        self.is_right = False  # whether something of the last run was compared, and is right
        self.right_run = ""  # the one before it, if that was
        self.has_zero = False  # whether a number it was given is 0, so that little is left to do
        self.was_called = False  # whether that was a function called as plain Python
        self.answers: list[Returned] = []  # of such calls, since something was compared or run
        self.last_arguments: tuple[object, ...] = ()  # of that run or call
        self.last_lengths: frozenset[int] = frozenset()  # of all axes of its arrays
        self.changed_launch: bool | None = None  # None: not looked at yet
        self.known_clues: dict[Hashable, Clues] = {}
        self.last_compared: tuple[object, Threads | None] = None, None  # which threads own it
        self.recorded_by: WorkerProcess | None = None  # the last run, if it can be replayed

    def expect(
        self,
        got: object,
        expected: ArrayLike,
        name: str = "result",
        threads: Threads | None = None,
        tolerance: float | None = None,
        candidates: Candidates | Callable[[], Candidates] | None = None,
        reason: str = "",
    ) -> None:
        """End the check, with feedback, unless `got` is near `expected`.

        got: an `Output`, an array or a number. tolerance: absolute; None for that of lesson.toml,
        times the largest expected magnitude if that is over 1. threads: which thread owns which
        element, and candidates: results of known mistakes, see `diagnosis.diagnose`; or a function
        that computes them, which a right result need not wait for. reason: why so much is allowed,
        if it is not that of lesson.toml.
        """
        self.last_compared = got, threads
        intact = got.guards_intact if isinstance(got, Output) else True
        expected = np.asarray(expected)
        values = self.as_array(got, expected, name)
        if tolerance is None:
            tolerance = self.usual_tolerance(expected)
        wrong = differing(values, expected, tolerance)
        what = self.what_is_compared(name)
        if not wrong.any() and intact:
            self.is_right, self.answers = True, []
            if candidates:
                self.keep_right(what, partial(would_show, candidates, expected, tolerance))
            return
        if self.brief:
            self.fail("wrong")
        if callable(candidates):
            candidates = candidates()
        sentinel = sentinel_of(values.dtype)
        clues = self.clues()
        diagnosis = self.right.likeliest(
            what,
            self.last_run,
            candidates or {},
            lambda known: diagnose(
                expected, values, sentinel, tolerance, threads, known, intact, clues
            ),
        )
        lines = []
        if wrong.any():
            lines.append(
                f"{int(wrong.sum()):,} of {wrong.size:,} elements of {name} are wrong "
                f"(allowed: {tolerance:.2g}; {reason or self.usual_reason(tolerance)})"
            )
            calls = calls_of_rows(values, self.answers)
            if calls:
                self.last_run = calls[np.argwhere(wrong)[0][0]]
            of_rows = [f" ({call})" for call in calls]
            found = first_wrong(
                name, expected, values, tolerance, threads, sentinel=sentinel, of_rows=of_rows
            )
            lines += ["  " + line for line in found]
        if diagnosis.code == "wrong" and isinstance(got, Output) and got.initial is not None:
            initial = np.reshape(got.initial, values.shape)
            told = other_amount(initial, expected, values, tolerance)
            diagnosis = diagnosis._replace(sentence=told or diagnosis.sentence)
            comparison = Comparison(expected, values, sentinel, tolerance, threads, clues)
            diagnosis = left_as_it_was(initial, comparison) or diagnosis
        if diagnosis.code == "nan":
            names, checked = self.last_run.partition("("), self.last_backend == "checked"
            ran = LastRun(names[0], self.last_arguments, self.answers, checked)
            told = why_nan(ran, values, expected, self.submission)
            diagnosis = diagnosis._replace(sentence=told)
        lines.append(f"{diagnosis.code}: {diagnosis.sentence}")
        if diagnosis.code not in (candidates or {}):
            lines += self.right_before()
        lines += self.evidence.picture(name, expected, values, sentinel, tolerance, threads)
        sentence = diagnosis.sentence
        lines += self.evidence.replay(
            self.recorded_by, lambda data: replay_of_wrong(data, name, wrong, sentence)
        )
        self.fail(diagnosis.code, *lines)

    def keep_right(self, what: str, shows: Callable[[Collection[str]], set[str]]) -> None:
        if not self.has_zero:
            self.right.keep(what, self.last_run, shows)

    def what_is_compared(self, names: str) -> str:
        """What is compared, for `RightRuns`: of two functions the same mistakes are told."""
        return f"{self.last_run.partition('(')[0]} {names}"

    def right_before(self) -> list[str]:
        """What to compare a wrong run with: one of the same function that came out right."""
        before, now = (run.partition("(")[0] for run in (self.right_run, self.last_run))
        if not self.right_run or before != now:
            return []
        return [came_out_right(self.right_run, self.last_run)]

    def clues(self) -> Clues:
        """What the code of the last run tells of a mistake: looked up once for each such run."""
        key = self.last_run, self.last_backend, self.last_lengths, self.was_called
        if key not in self.known_clues:
            self.known_clues[key] = self.new_clues()
        return self.known_clues[key]

    def own_launch(self) -> bool:
        """Whether the student has changed a launch function."""
        if self.changed_launch is None:
            self.changed_launch = own_launch("\n".join(self.submission.lines), self.lesson)
        return self.changed_launch

    def new_clues(self) -> Clues:
        text = "\n".join(self.submission.lines)
        seen = self.last_backend == "checked"  # where a race is a finding of its own
        # What runs, and what it is given; where that is not the student's, all that is checked.
        run = re.findall(r"\w+", self.last_run)
        names = run if functions_of(text, run) else self.check.needs
        racing = not seen and adds_to_elements(text, names)
        blocks, ran = counts_blocks(text, names), functions_of(text, names)
        return Clues(
            self.own_launch(), blocks, racing, self.last_lengths, self.was_called,
            numbers_as_usual(text, names), steps_by_blocks(text, names), stores_in_loops(ran),
            has_conditions(ran), adds_atomically(text, names), asks_for_ends(ran),
            adds_one_to_a_thread(ran), stores_at_a_block(ran), swaps_once(ran),
            exchanges_later(ran),
        )  # fmt: skip

    def budget(
        self,
        what: str,
        yours: float,
        ours: float,
        allowed: float,
        diagnosis: str,
        sentence: str | Callable[[], str],
        line: int = 0,
    ) -> None:
        """End the check with this diagnosis if `yours` is more than `allowed`.

        what: what was counted, such as "reads of global memory per product". ours: what the idea
        of the lesson needs; after a pass the student sees both. allowed: leaves room for other ways
        that are as good. sentence: or what makes it, which may wait until then. line: the line of
        the student's file with most of it; see `Counts.busiest_line`.
        """
        self.keep_within(what, yours, ours, allowed, diagnosis, sentence, line)
        figures = compared(what, yours, ours)
        if figures not in self.notes:
            self.notes.append(figures)

    def keep_within(
        self,
        what: str,
        yours: float,
        ours: float,
        allowed: float,
        diagnosis: str,
        sentence: str | Callable[[], str],
        line: int = 0,
    ) -> None:
        """As `budget`, of which nothing is said if it is kept."""
        if yours <= allowed:
            return
        sentence = sentence() if callable(sentence) else sentence
        code = quoted(line, self.submission.lines)
        self.fail(
            diagnosis,
            f"{diagnosis}: {sentence}",
            f"{compared(what, yours, ours)} (allowed: {short_number(allowed)})",
            *code,
            *self.evidence.budget(what, yours, ours, allowed, sentence, code),
        )

    def compare(self, what: str, yours: float, ours: float) -> None:
        """Note, for a check that passes, how often something was done: nothing is asked for."""
        self.notes.append(compared(what, yours, ours))

    def require(self, ok: bool, diagnosis: str, sentence: str, line: int | None = None) -> None:
        """End the check with this diagnosis unless `ok`: for a property, not a value.

        line: of the student's file, which is shown.
        """
        if not ok:
            code = quoted(line, self.submission.lines)
            self.fail(diagnosis, f"{diagnosis}: {sentence}", *code)

    def require_many_threads(
        self, counts: Counts, result: Output, threads: Threads | None = None
    ) -> None:
        """End the check if one thread has written all of a result, or each thread has.

        threads: which of them own it; it need not be given after `expect` of the same result.
        """
        written = counts.of(result)
        if written.writes >= 64:
            self.keep_within(
                "times that 32 threads write together, per 32 elements",
                yours=32 * written.requests / written.writes,
                ours=1,
                allowed=16,
                diagnosis="one thread for all",
                sentence=lambda: (
                    "of the threads of a warp only one, or a few, have work at a "
                    "time: is there a loop over what the threads of the grid should share?"
                    + " Or does your launch start blocks of a few threads?"
                    * self.own_launch()
                ),
                line=counts.busiest_line("writes", result),
            )
        times = written.writes / max(1, result.array.size)
        line = counts.busiest_line("writes", result)
        self.keep_within(
            "writes per element",
            yours=times,
            ours=1,
            allowed=16,
            diagnosis="same work again",
            sentence=lambda: (
                f"each element is written {times:.0f} times"
                f"{' on average' * (times != round(times))}: "
                + self.by_whom(written.writes, result, threads, line)
            ),
            line=line,
        )

    def by_whom(self, writes: float, result: Output, threads: Threads | None, line: int) -> str:
        """Why elements are written again, as far as the number of times tells it.

        line: where most of them are.
        """
        compared_one, compared_with = self.last_compared
        known = threads or (compared_with if compared_one is result else None)
        shape, by_blocks = result.array.shape, self.clues().steps_by_blocks
        why = why_again(writes, shape, known, self.last_lengths, by_blocks) or BY_SEVERAL
        names = re.findall(r"\w+", self.last_run)
        loop = only_loop_around(line, functions_of("\n".join(self.submission.lines), names))
        return why.replace(" in a loop.", f" in the loop of line {loop}.") if loop else why

    def usual_tolerance(self, expected: np.ndarray) -> float:
        largest = np.abs(expected).max(initial=0.0) if expected.dtype.kind in "fiu" else 0.0
        return self.check.tolerance * max(1.0, float(largest))

    def usual_reason(self, tolerance: float) -> str:
        exact = tolerance == 0 and self.check.tolerance > 0
        return "it is the same to the last bit" if exact else self.check.tolerance_reason

    def as_array(self, got: object, expected: np.ndarray, name: str) -> np.ndarray:
        """`got` as an array of numbers, of the expected shape; or the end of the check."""
        try:
            values = got.array if isinstance(got, Output) else np.asarray(got)
        except ValueError:
            values = np.asarray(None)
        if values.dtype.kind not in "fiub":
            self.fail("wrong type", f"{name} is not made of numbers")
        if values.shape != expected.shape:
            self.fail("wrong shape", f"{name} has the shape {values.shape}, not {expected.shape}")
        return values

    def fail(self, diagnosis: str, *lines: str) -> NoReturn:
        raise CheckEnded("failed", diagnosis, self.last_run, *lines)


def compared(what: str, yours: float, ours: float) -> str:
    return f"{what}: yours {short_number(yours)}, ours {short_number(ours)}"
