"""What a failed check says of a mistake that no pattern knows: the place that has to be changed.

Changed texts run as a student's file does, in a worker of their own, and count for no points.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from lessons.course.exercises import START, exercise_text, solution_text
from lessons.course.lesson import Check, Lesson
from lessons.grading.advice.messages import quoted
from lessons.grading.checks.case import Case, CheckFunction
from lessons.grading.checks.result import NOT_UNDERSTOOD, Result
from lessons.grading.checks.verdict import CheckEnded
from lessons.grading.checks.waiting import about_an_answer, about_values, failed
from lessons.grading.repairs.search import Found, OutOfTries, Tries, find_slip
from lessons.grading.supervisor.worker_errors import WorkerError, WorkerLost
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.submission import Submission

# Codes that many mistakes leave, and that do not tell the mistake.
GENERAL = (
    NOT_UNDERSTOOD, "made of something else", "constant factor", "constant offset", "shifted",
    "flipped", "transposed", "all zero", "nan", "partly written", "never written",
    "tail not written", "beginning not written", "first block only", "blocks missing",
    "written outside", "0-255", "TypeError", "ValueError", "IndexError", "KeyError",
    "AttributeError", "ZeroDivisionError", "UnboundLocalError", "OverflowError",
)  # fmt: skip
GENERAL_BEGINNINGS = "wrong", "the wrong", "other "  # as in "wrong places", "other waves"
# Codes whose message has the lines.
TOLD_BY_LINE = ("slow", "double")
# Codes of what the simulator finds where two accesses meet: without one of them there is nothing.
FINDINGS = ("race", "uninitialised", "barrier", "order")
SHARE_IF_NAMED = 0.5  # of the small changes and of their time, for wrong values that have a name
MOST_BESIDE_A_FINDING = 2  # places that are told where a finding has told its line already
BEGINNING = "look at line "  # of what is told


class Effort(NamedTuple):
    """How much is done to find the place of a mistake.

    Texts are counted, so that the same seed finds the same; the seconds end a search that is slow.
    """

    lines: int  # texts with lines of a right file, at most
    small: int  # texts with any small change
    seconds_for_lines: float = 15.0
    seconds_for_small: float = 10.0
    seconds_for_one: float = 3.0  # of the texts with a small change
    only_general: bool = False  # leave out mistakes that have a name already


NO_EFFORT = Effort(0, 0)
FULL_EFFORT = Effort(50, 300)
EFFORT_FOR_A_CLASS = Effort(12, 0, seconds_for_lines=5.0, only_general=True)


class Failure(NamedTuple):
    """A check that has failed, and with what."""

    function: CheckFunction
    lesson: Lesson
    check: Check
    submission: Submission
    seed: int
    diagnosis: str
    message: str

    def is_new(self, before: Sequence[Result]) -> bool:
        """Whether no earlier check has failed for a function that this one runs, too."""
        if self.message.startswith(("as in ", "waits for ", "not begun")):
            return False
        needs = set(self.check.needs)
        earlier = [one for one in failed(self.lesson, before) if one.diagnosis not in TOLD_BY_LINE]
        return not any(needs & set(self.lesson.check(one.check).needs) for one in earlier)

    @property
    def is_general(self) -> bool:
        return self.diagnosis in GENERAL or self.diagnosis.startswith(GENERAL_BEGINNINGS)

    @property
    def is_finding(self) -> bool:
        return self.diagnosis in FINDINGS

    @property
    def share(self) -> float:
        """How much is done to find its place: a share of the small changes."""
        if self.is_general:
            return 1.0
        searched = about_values(self.message) or about_an_answer(self.message)
        return SHARE_IF_NAMED if searched else 0.0


def lines_on_slip(failure: Failure, workers: WorkerPool, effort: Effort) -> list[str]:
    """Lines for the message of a check that has failed: where the mistake is, if it was found.

    workers: gives what starts a worker; its own one is left alone.
    """
    left_out = effort.only_general and not failure.is_general
    if failure.diagnosis in TOLD_BY_LINE or left_out or not effort.lines:
        return []
    pool = WorkerPool(trusted=True, new_worker=workers.new_worker)
    share = failure.share
    seconds, longest = effort.seconds_for_lines, effort.seconds_for_one
    lines = ChangedTexts(failure, pool, seconds, seconds)
    small = ChangedTexts(failure, pool, share * effort.seconds_for_small, longest)
    most = int(share * effort.small)
    try:
        found = find_slip(
            "\n".join(failure.submission.lines) + "\n",
            exercise_text(failure.lesson),
            right_texts(failure.lesson),
            failure.check.needs,
            failure.lesson.blank,
            Tries(lines.passes, effort.lines),
            Tries(small.passes, most) if most else None,
        )
        if found is None or (failure.is_finding and found.only_removes):
            return []
        if failure.is_finding and len(found.places) > MOST_BESIDE_A_FINDING:
            return []
        if not failure.is_general:
            found = found._replace(structure="")  # the mistake has a name already
        return told(found, failure.submission.lines)
    except Exception:  # whatever a strange text leads to here: its check is decided already
        return []
    finally:
        pool.stop()


def right_texts(lesson: Lesson) -> list[str]:
    """Our solution and other right files; none where this copy of the course has no solutions."""
    if (lesson.folder / START).exists():
        return []
    others = sorted((lesson.folder / "right").glob("*.py"))
    return [solution_text(lesson), *(path.read_text(encoding="utf-8") for path in others)]


class ChangedTexts:
    """Runs the check of a failure on changed texts; raises `OutOfTries` when the time is up.

    seconds: for all of them, from the first on. longest: for one.
    """

    def __init__(self, failure: Failure, pool: WorkerPool, seconds: float, longest: float) -> None:
        self.failure = failure
        self.pool = pool
        self.seconds = seconds
        self.longest = longest
        self.end: float | None = None

    def passes(self, text: str, sure: bool) -> bool:
        """Whether it passes; sure: with other random numbers, and asking Numba's compiler."""
        self.pool.ready()
        now = time.monotonic()
        self.end = self.end or now + self.seconds
        if now > self.end:
            raise OutOfTries
        failure = self.failure
        case = Case(
            failure.lesson, failure.check,
            Submission(failure.submission.path, text.encode("utf-8")), self.pool,
            failure.seed + sure, now + self.longest, on_gpu=False, draw=False, backends=[],
            only_checked=True,
        )  # fmt: skip
        case.brief, case.quick = True, not sure
        try:
            failure.function(case)
        except (CheckEnded, WorkerError, WorkerLost):
            return False
        except Exception:  # values that no check is written for
            return False
        return True


# ---------------------------------------------------------------- words


def told(found: Found, source: list[str]) -> list[str]:
    """The lines of a message. source: the lines of the student's file."""
    if not found.places:
        words = f"look at `{found.function}`: with a right one in its place, this check passes"
        return [words, *([f"  {found.structure}"] if found.structure else [])]
    if len(found.places) == 1:
        (place,) = found.places
        return [
            f"{BEGINNING}{place.line}: {place.words}, this check passes",
            *quoted(place.line, source),
        ]
    how = "together" if found.all_of_them else "one of them is enough"
    lines = [f"look at these lines; if they are changed ({how}), this check passes:"]
    for place in found.places:
        lines.append(f"  line {place.line}: {place.words}")
        lines += quoted(place.line, source)
    return lines
