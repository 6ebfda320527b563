"""What is judged, and how a check ends."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lessons.course.lesson import Check, Lesson
from lessons.grading.walls.submission import Submission

# The diagnosis of a check that ended in an error of its own, since the values were so strange.
LEFT_OUT = "left out of your file: "  # begins a line of a message
GRADER_FAILED = "grader"  # the diagnosis of a row that is nobody's fault; such a check runs again
NOT_UNDERSTOOD = "not understood"


class Attempt(NamedTuple):
    """A file in one check. seed: decides all random inputs; pictures: their folder, or None."""

    lesson: Lesson
    check: Check
    submission: Submission
    seed: int
    pictures: Path | None = None


class Result(NamedTuple):
    """The outcome of one check; also a row of the grade report (see lessons/GRADING.md)."""

    lesson: str
    check: str
    score: int
    max_score: int
    status: str  # passed, failed, error, timeout or skipped
    message: str
    diagnosis: str  # a word or two that name the mistake, "" if it passed
    backend: str  # engines that ran it, joined by "+"
    device: str
    seconds: float


class CheckEnded(Exception):
    """A check is decided, and not passed."""

    def __init__(self, status: str, diagnosis: str, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.diagnosis = diagnosis


class WrongNumbers(CheckEnded):
    """A result is not as expected. What it is called, others may know better: see `renamed`.

    facts: the lines above the sentence. evidence: writes the pictures, given the sentence, and
    returns the lines below it.
    """

    def __init__(
        self,
        diagnosis: str,
        sentence: str,
        facts: list[str],
        evidence: Callable[[str], list[str]] = lambda sentence: [],
    ) -> None:
        super().__init__("failed", diagnosis, *facts, f"{diagnosis}: {sentence}")
        self.facts = facts
        self.sentence = sentence
        self.evidence = evidence

    def renamed(self, diagnosis: str, sentence: str) -> "WrongNumbers":
        return WrongNumbers(diagnosis, sentence, self.facts, self.evidence)

    def message(self) -> str:
        """All that is told; writes the pictures."""
        return "\n".join([str(self), *self.evidence(self.sentence)])


class EngineRefused(CheckEnded):
    """The native engine cannot run a kernel; which does not say that the kernel is wrong."""
