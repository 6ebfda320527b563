"""What a failed check says of a mistake that no pattern knows: the place that has to be changed.

Changed texts run as a student's file does, in a worker of their own, and count for no points.
"""

import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from lessons.course.exercises import START, exercise_text, solution_text
from lessons.course.lesson import Lesson
from lessons.course.mistakes import entries_of_kind, file_of
from lessons.grading.explain.messages import quoted
from lessons.grading.explain.repairs.search import Found, Tries, find_slip, names_called
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.changed_texts import FailedCheck, OtherChecks, Runner, checks_beside
from lessons.grading.judge.result import NOT_UNDERSTOOD, Attempt, Result
from lessons.grading.judge.waiting import about_values, failed, tells_a_line
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.mutations.source import Source

# Codes that many mistakes leave, and that do not tell the mistake.
GENERAL = (
    NOT_UNDERSTOOD, "wrong", "constant factor", "constant offset",
    "shifted", "flipped", "transposed", "all zero", "nan", "partly written",
    "never written", "tail not written", "beginning not written", "first block only",
    "border not written", "written in steps", "blocks missing", "written outside", "0-255",
    "TypeError", "ValueError", "IndexError", "KeyError", "AttributeError", "ZeroDivisionError",
    "UnboundLocalError", "OverflowError",
)  # fmt: skip
GENERAL_BEGINNINGS = "wrong", "the wrong"  # as in "wrong shape"
# Codes that tell what the values look like, and little of why.
SYMPTOMS = ("lost updates",)
# Codes whose message has the lines.
TOLD_BY_LINE = ("slow", "double")
# Codes of a mistake that may be in that line, or in one that leads to it.
NEAR_A_LINE = ("out-of-bounds", "compile")
# Codes of what the simulator finds where two accesses meet: without one of them there is nothing.
FINDINGS = ("race", "uninitialised", "barrier", "order", "unsynchronised")
SHARE_IF_NAMED = 0.5  # of the small changes and of their time, for wrong values that have a name
MOST_BESIDE_A_FINDING = 2  # places that are told where a finding has told its line already
BARRIER = "put cuda.syncthreads() between them"
SECOND_BARRIER = "loop begins without one: put a second cuda.syncthreads()"
ONE_MORE_TERM = "with one more term"
TOLD_BY_BLOCKS = "blockIdx has to be multiplied with blockDim"
BEGINNING = "look at line "  # of what is told
BEGINNING_OF_LINES = "look at these lines"


class Effort(NamedTuple):
    """How much is done to find the place of a mistake.

    Texts are counted, so that the same seed finds the same; the seconds end a search that is slow.
    """

    lines: int  # texts with lines of a right file, at most
    small: int  # texts with any small change
    others: int = 0  # runs of the function's other checks
    seconds: float = 3.0  # for texts with lines, and for any one
    seconds_for_small: float = 12.0
    seconds_for_others: float = 2.0
    only_general: bool = False  # leave out mistakes that have a name already

    def patient(self, patience: float) -> "Effort":
        """With so many times the seconds."""
        lines, small, others = (patience * seconds for seconds in self[3:6])
        return self._replace(seconds=lines, seconds_for_small=small, seconds_for_others=others)


NO_EFFORT = Effort(0, 0)
FULL_EFFORT = Effort(30, 300, 20)
EFFORT_FOR_A_CLASS = Effort(12, 0, 8, only_general=True)


class Failure(NamedTuple):
    """A check that has failed, and with what."""

    function: CheckFunction
    attempt: Attempt
    diagnosis: str
    message: str
    passed: frozenset[str] = frozenset()  # the functions of checks that this file has passed

    def is_new(self, before: Sequence[Result]) -> bool:
        """Whether no earlier check has failed for a function that this one runs, too."""
        if self.message.startswith(("as in ", "waits for ", "not begun")):
            return False
        lesson, needs = self.attempt.lesson, set(self.attempt.check.needs)
        earlier = [one for one in failed(lesson, before) if one.diagnosis not in TOLD_BY_LINE]
        return not any(needs & set(lesson.check(one.check).needs) for one in earlier)

    @property
    def is_general(self) -> bool:
        return self.diagnosis in GENERAL or self.diagnosis.startswith(GENERAL_BEGINNINGS)

    @property
    def is_finding(self) -> bool:
        return self.diagnosis in FINDINGS

    @property
    def is_named(self) -> bool:
        """Whether the diagnosis says what is wrong, so far as values and answers tell it."""
        return self.diagnosis not in (*GENERAL, *SYMPTOMS, *NEAR_A_LINE, *FINDINGS)

    def takes(self, found: Found) -> bool:
        """Whether what was found says more than the message does."""
        if not found.places and (tells_a_line(self.message) or self.is_said_by_the_call(found)):
            return False
        if TOLD_BY_BLOCKS in self.message:
            return False  # what else passes shares the work out in a worse way
        if self.is_finding:
            barriers = any("barrier" in place.words for place in found.places)
            if BARRIER in self.message and len(found.places) > 1 and barriers:
                return False  # the one that the finding asks for is simpler
            if SECOND_BARRIER in self.message and self.is_a_barrier(found):
                return False  # the first one is needed, too, where it stands
            few = len(found.places) <= MOST_BESIDE_A_FINDING
            return few and not (found.only_removes or found.partly)
        several = found.all_of_them and len(found.places) > 1
        if self.is_named and about_values(self.message) and (several or found.partly):
            return False
        if self.is_named and several and all(ONE_MORE_TERM in one.words for one in found.places):
            return False  # it makes up for what is elsewhere, in all places that use it
        return True

    def is_said_by_the_call(self, found: Found) -> bool:
        """Whether a mistake has a name, and the call it was seen in names the function, too."""
        called = self.message.partition("(")[0].removeprefix("launch_")
        return self.is_named and not found.helpers and called == found.function

    def is_a_barrier(self, found: Found) -> bool:
        """Whether the one place is a line that is a barrier."""
        source = self.attempt.submission.lines
        lines = [source[place.line - 1].strip() for place in found.places]
        return len(lines) == 1 and lines[0].startswith("cuda.syncthreads(")

    @property
    def share(self) -> float:
        """How much is done to find its place: a share of the small changes."""
        if self.is_general or self.diagnosis in ("uninitialised", *NEAR_A_LINE):
            return 1.0
        told = tells_a_line(self.message) or "(allowed" in self.message
        return SHARE_IF_NAMED if about_values(self.message) or not told else 0.0


def lines_on_slip(failure: Failure, workers: WorkerPool, effort: Effort) -> list[str]:
    """Lines for the message of a check that has failed: where the mistake is, if it was found.

    workers: see `WorkerPool.beside`.
    """
    left_out = effort.only_general and not failure.is_general
    if failure.diagnosis in TOLD_BY_LINE or left_out or not effort.lines:
        return []
    lesson, check, submission, seed, _ = failure.attempt
    share, longest = failure.share, effort.seconds
    runner = Runner(lesson, submission, workers)
    failed_check = partial(FailedCheck, runner, failure.function, check, seed)
    lines = failed_check(longest, effort.seconds_for_small)
    small = failed_check(share * effort.seconds_for_small, effort.seconds_for_small)
    most = int(share * effort.small)
    mine = "\n".join(submission.lines) + "\n"
    others = OtherChecks(
        runner, checks_beside(failure.function), check, mine, seed,
        effort.others, effort.seconds_for_others, longest,
    )  # fmt: skip
    try:
        workers.ready()  # its start, of seconds, is not the search's
        alone = failure.function, check, mine, seed, time.monotonic() + effort.seconds_for_small
        wrong = runner.wrong_runs(*alone, only=-1) or [-1]
        lines.first, small.first, small.looked_at = wrong[0], wrong[0], min(wrong)
        found = find_slip(
            mine, exercise_text(lesson), right_texts(lesson), check.needs, lesson.blank,
            Tries(lines.passes, effort.lines),
            Tries(small.passes, most) if most else None,
            others.held, failure.message, small.computed,
        )  # fmt: skip
        if found is None or not failure.takes(found):
            return []
        found = found._replace(helpers=suspected(found.helpers, mine, failure.passed))
        return [] if says_nothing(found, lesson) else told(found, submission.lines)
    except Exception:  # whatever a strange text leads to here: its check is decided already
        return []


def says_nothing(found: Found, lesson: Lesson) -> bool:
    """Whether only a function is told, which is the only one that the student writes."""
    more = found.places or found.helpers or found.strange
    return not more and list(lesson.blank) == [found.function]


def suspected(helpers: Sequence[str], text: str, passed: Collection[str]) -> tuple[str, ...]:
    """Helpers without those that a function calls which has passed its checks."""
    functions = Source(text).functions()
    called = (names_called(node) for name, node in functions.items() if name in passed)
    fine = set().union(*called)
    return tuple(name for name in helpers if name not in fine)


def right_texts(lesson: Lesson) -> list[str]:
    """Our solution and other right files; none where this copy of the course has no solutions."""
    if (lesson.folder / START).exists():
        return []
    others = [file_of(lesson, entry) for entry in entries_of_kind(lesson, "right")]
    return [solution_text(lesson), *others]


# ---------------------------------------------------------------- words


def told(found: Found, source: list[str]) -> list[str]:
    """The lines of a message. source: the lines of the student's file."""
    if not found.places:
        helpers = ", ".join(f"`{name}`" for name in found.helpers)
        also = f", or at what it calls ({helpers})" if helpers else ""
        look = f"look at `{found.function}`{also}"
        lines = [f"{look}: with a right one in its place, this check passes"]
        if found.strange:
            lines.append(
                f"line {found.strange} is the first to compute what our solution does not:"
            )
            lines += quoted(found.strange, source)
        return lines
    if len(found.places) == 1:
        (place,) = found.places
        return [
            f"{BEGINNING}{place.line}: {place.words}, this check passes",
            *quoted(place.line, source),
        ]
    how = "together" if found.all_of_them else "one of them is enough"
    lines = [f"{BEGINNING_OF_LINES}; if they are changed ({how}), this check passes:"]
    for place in found.places:
        lines.append(f"  line {place.line}: {place.words}")
        lines += quoted(place.line, source)
    return lines
