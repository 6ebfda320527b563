"""The verdict of a check: what is compared, what is asked for, and what a failure says."""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from lessons.grading.explain.clues import Clues, clues_of, left_out_by, own_launch
from lessons.grading.explain.comparison import Threads, block_shape, differing, first_wrong
from lessons.grading.explain.evidence import Curve, replay_of_wrong
from lessons.grading.explain.messages import quoted, short_number
from lessons.grading.explain.patterns import diagnose
from lessons.grading.judge.case import Case
from lessons.grading.judge.result import Attempt, CheckEnded, WrongNumbers
from lessons.grading.judge.runs import LastRun, Returned, Runs, replay_of
from lessons.grading.worker.outcome import Counts
from lessons.grading.worker.output import Output, sentinel_of

MOST_ROWS = 4096  # of a result, for which the calls are looked for that have returned them
BY_ALL = (
    "all threads of the launch store, also those beyond the edge, which have no element of their "
    "own. A guard has to send these home: they return, and are not given an element of another "
    "thread."
)
BY_SEVERAL = (
    "several threads do the same work, or a thread stores again in each round of a loop that goes "
    "over something else. A thread should write its own element, once."
)
IN_A_LOOP = (
    "by all threads, so each of them goes through all elements in a loop. A thread should write "
    "its own element, once."
)


class Compared(NamedTuple):
    """A result beside what was expected; for the rest see `Verdict.expect`."""

    name: str
    got: object
    values: np.ndarray  # those of `got`
    expected: np.ndarray
    tolerance: float
    threads: Threads | None
    reason: str
    over: Curve | None = None

    @property
    def wrong(self) -> np.ndarray:
        return differing(self.values, self.expected, self.tolerance)

    @property
    def guards_intact(self) -> bool:
        return self.got.guards_intact if isinstance(self.got, Output) else True

    @property
    def sentinel(self) -> float:
        return sentinel_of(self.values.dtype)


class Budget(NamedTuple):
    """What a check counts; see `Verdict.budget`."""

    what: str  # was counted, such as "reads of global memory per product"
    yours: float
    ours: float  # what the idea of the lesson needs
    allowed: float  # leaves room for other ways that are as good
    diagnosis: str
    sentence: str | Callable[[], str]  # what makes it may wait until then
    line: int = 0  # of the student's file, with most of it; see `Counts.busiest_line`

    @property
    def figures(self) -> str:
        """Both counts; of a check that passes with another count than ours, what that means."""
        yours, ours = short_number(self.yours), short_number(self.ours)
        return f"{self.what}: yours {yours}, ours {ours}{self.unlike_ours(yours, ours)}"

    def unlike_ours(self, yours: str, ours: str) -> str:
        if yours == ours or self.yours > self.allowed:
            return ""
        if self.yours < self.ours:
            return " (fewer than ours: as good, or better)"
        return " (more than ours, and few enough)"


class Verdict(Case):
    """Compares what the last run has left, and ends the check if it is wrong."""

    def __init__(self, attempt: Attempt, runs: Runs) -> None:
        super().__init__(attempt, runs)
        self.evidence = runs.evidence
        self.notes: list[str] = []  # what a student reads of a check that has passed
        self.right_run = ""  # the last run that was compared, and is right
        self.last_compared: tuple[object, Threads | None] = None, None  # which threads own it
        self.picture: Callable[[], bytes] | None = None  # see `show`

    @property
    def last(self) -> LastRun:
        return self.runs.last

    # ---------------------------------------------------------------- numbers

    def call(self, function: str, *arguments: object) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        result = self.runs.call(function, arguments)
        if result is None:
            sentence = f"{function} returns nothing: it should end with `return`, and the result."
            self.require(False, "nothing returned", sentence)
        return result

    def expect(
        self,
        got: object,
        expected: ArrayLike,
        name: str = "result",
        threads: Threads | None = None,
        tolerance: float | None = None,
        reason: str = "",
        over: Curve | None = None,
    ) -> None:
        """End the check, with feedback, unless `got` is near `expected`.

        got: an `Output`, an array or a number. tolerance: absolute; None for that of lesson.toml,
        times the largest expected magnitude if that is over 1. threads: which thread owns which
        element, see `Threads`. reason: why so much is allowed, if it is not that of lesson.toml.
        over: what a function was called with, whose values are drawn as a curve then.
        """
        expected = np.asarray(expected)
        values = self.as_array(got, expected, name)
        room = self.usual_tolerance(expected) if tolerance is None else tolerance
        self.last_compared = got, threads
        self.decide_on(Compared(name, got, values, expected, room, threads, reason, over))

    def decide_on(self, one: Compared) -> None:
        wrong = one.wrong
        if not wrong.any() and one.guards_intact:
            self.right_run, self.last.answers = self.last.what, []
            return
        diagnosis = diagnose(
            one.expected, one.values, one.sentinel, one.tolerance, one.threads,
            guards_intact=one.guards_intact, clues=self.clues(one.got),
            initial=one.got.initial if isinstance(one.got, Output) else None,
        )  # fmt: skip
        facts = []
        if wrong.any():
            reason = one.reason or self.usual_reason(one.tolerance)
            facts.append(
                f"{wrong.sum():,} of {wrong.size:,} elements of {one.name} are wrong "
                f"(allowed: {one.tolerance:.2g}; {reason})"
            )
            facts += self.examples(one)
        raise WrongNumbers(*diagnosis, [self.last.what, *facts], partial(self.evidence_of, one))

    def examples(self, one: Compared) -> list[str]:
        """The first wrong elements, with the threads that own them, or the calls they are of."""
        calls = calls_of_rows(one.values, self.last.answers)
        if calls:
            self.last.what = calls[np.argwhere(one.wrong)[0][0]]
        of_rows = [f" ({call})" for call in calls]
        found = first_wrong(
            one.name, one.expected, one.values, one.tolerance, one.threads,
            sentinel=one.sentinel, of_rows=of_rows,
        )  # fmt: skip
        return ["  " + line for line in found]

    def evidence_of(self, one: Compared, sentence: str) -> list[str]:
        """Draws the picture, writes the replay, and tells of a run that came out right."""
        compared = one.name, one.expected, one.values
        picture = (
            self.evidence.curves(*compared, one.wrong, one.over)
            if one.over
            else self.evidence.picture(*compared, one.sentinel, one.tolerance, one.threads)
        )
        replay = self.evidence.replay(
            partial(replay_of, self.last.recorded_by),
            lambda data: replay_of_wrong(data, one.name, one.wrong, sentence),
        )
        return [*self.right_before(), *picture, *replay]

    def right_before(self) -> list[str]:
        """What to compare a wrong run with: one of the same function that came out right."""
        before, now = (run.partition("(")[0] for run in (self.right_run, self.last.what))
        if not self.right_run or before != now:
            return []
        if self.right_run == self.last.what:
            return ["An earlier run of the same sizes, with other numbers, came out right."]
        return [f"This came out right: {self.right_run}. What is different here?"]

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

    # ---------------------------------------------------------------- what the file tells

    def clues(self, result: object = None) -> Clues:
        """What the code of the last run tells of a mistake, in this result of it."""
        names = re.findall(r"\w+", self.last.what)
        return clues_of(
            self.submission.lines, self.lesson, names, self.check.needs,
            checked=self.last.backend == "checked",
        )._replace(
            lengths=lengths_of(self.last.arguments),
            left_out=left_out_by(self.submission.lines, names[0], self.last.arguments, result),
        )  # fmt: skip

    def own_launch(self) -> bool:
        """Whether the student has changed a launch function, and so the shape of its blocks."""
        return own_launch("\n".join(self.submission.lines), self.lesson)

    # ---------------------------------------------------------------- properties and budgets

    def require(self, ok: bool, diagnosis: str, sentence: str, line: int | None = None) -> None:
        """End the check with this diagnosis unless `ok`: for a property, not a value.

        line: of the student's file, which is shown.
        """
        if not ok:
            code = quoted(line, self.submission.lines)
            self.fail(diagnosis, f"{diagnosis}: {sentence}", *code)

    def keep_within(self, *figures: Any, **named: Any) -> None:
        """As `budget`, of which nothing is said if it is kept."""
        budget = Budget(*figures, **named)
        if budget.yours <= budget.allowed:
            return
        sentence = budget.sentence() if callable(budget.sentence) else budget.sentence
        code = quoted(budget.line, self.submission.lines)
        self.fail(
            budget.diagnosis,
            f"{budget.diagnosis}: {sentence}",
            f"{budget.figures} (allowed: {short_number(budget.allowed)})",
            *code,
            *(self.evidence.budget(*budget[:4], sentence, code) if self.picture is None else ()),
        )

    def budget(self, *figures: Any, **named: Any) -> None:
        """End the check if more was counted than a `Budget` of these figures allows.

        After a pass the student sees both counts, ours and theirs.
        """
        self.keep_within(*figures, **named)
        self.note(Budget(*figures, **named))

    def compare(self, what: str, yours: float, ours: float) -> None:
        """Note, for a check that passes, how often something was done: nothing is asked for."""
        self.note(Budget(what, yours, ours, yours, "", ""))

    def note(self, budget: Budget) -> None:
        if budget.figures not in self.notes:
            self.notes.append(budget.figures)

    def require_many_threads(
        self, counts: Counts, result: Output, threads: Threads | None = None
    ) -> None:
        """End the check if one thread has done the work of a warp, or each thread all of a result.

        threads: which of them own it; it need not be given after `expect` of the same result.
        """
        written, line = counts.of(result), counts.busiest_line("writes", result)
        every = counts.everything()
        # One thread may compute what all of them write. An atomic is no request here.
        touched = every.reads + every.writes + every.shared_reads + every.shared_writes
        touched -= 2 * every.atomics
        for what, touches, requests in (
            ("write", written.writes, written.requests),
            ("read or write", touched, every.requests + every.shared_requests),
        ):
            if touches < 64:
                continue
            together = 32 * requests / touches
            launch = " Or does your launch start blocks of a few threads?" * self.own_launch()
            sentence = (
                "of the threads of a warp only one, or a few, have work at a time: is there a loop "
                f"over what the threads of the grid should share?{launch}"
            )
            what = f"times that 32 threads {what} together, per 32 elements"
            self.keep_within(what, together, 1, 16, "one thread for all", sentence, line)
        times = written.writes / max(1, result.array.size)
        compared_one, compared_with = self.last_compared
        owners = threads or (compared_with if compared_one is result else None)
        average = " on average" * (times != round(times))

        def why() -> str:
            cause = why_again(written.writes, result.array.shape, owners)
            return f"each element is written {times:.0f} times{average}: {cause}"

        self.keep_within("writes per element", times, 1, 16, "same work again", why, line)

    def show(self, picture: Callable[[], bytes]) -> None:
        """Draw this, a PNG, if anything that is asked for from now on is not so."""
        self.picture = picture

    def fail(self, diagnosis: str, *lines: str) -> NoReturn:
        """End the check: where what is wrong is found by the check itself."""
        picture = self.evidence.accesses(self.picture) if self.picture else []
        raise CheckEnded("failed", diagnosis, self.last.what, *lines, *picture)


class Terse(Verdict):
    """Says that something is wrong, and not what: nobody reads why a changed text fails."""

    def decide_on(self, one: Compared) -> None:
        if not one.guards_intact or one.wrong.any():
            self.fail("wrong")


class NoDemands(Verdict):
    """Looks at numbers, and at nothing else that a check demands."""

    def nothing(self, *_: object, **__: object) -> None:
        """In place of what a check demands."""

    keep_within = note = require = require_many_threads = nothing


class NoNumbers(NoDemands):
    """Demands nothing: what ends a check then is what its runs have found."""

    expect = NoDemands.nothing


def why_again(writes: float, shape: tuple[int, ...], threads: Threads | None) -> str:
    """Who writes an array of this shape so often, in all."""
    if threads is None or len(shape) < len(block_shape(threads)):
        return BY_SEVERAL
    blocks = block_shape(threads)
    launched = math.prod(-(-n // size) * size for n, size in zip(shape, blocks, strict=False))
    if writes == launched * math.prod(shape[len(blocks) :]):
        return BY_ALL
    own = math.prod(shape[: len(blocks)])
    if writes in (launched * math.prod(shape), own * math.prod(shape)):
        return IN_A_LOOP
    return BY_SEVERAL


def lengths_of(arguments: Sequence[object]) -> frozenset[int]:
    """How long the axes of the arrays among the arguments are."""
    arrays = [argument for argument in arguments if isinstance(argument, (Output, np.ndarray))]
    return frozenset(length for array in arrays for length in array.shape)


def calls_of_rows(values: np.ndarray, answers: Sequence[Returned]) -> list[str]:
    """The calls that have returned the rows of an array, one by one; none if they have not."""
    if not values.ndim or not 1 < len(values) <= MOST_ROWS:
        return []
    for begin in range(len(answers) - len(values) + 1):
        part = answers[begin : begin + len(values)]
        if all(is_row(row, answer) for row, answer in zip(values, part, strict=True)):
            return [answer.call for answer in part]
    return []


def is_row(row: np.ndarray, answer: Returned) -> bool:
    try:
        returned = np.asarray(answer.value, np.float64)
    except (TypeError, ValueError):
        return False
    return np.array_equal(returned, np.asarray(row, np.float64), equal_nan=True)
