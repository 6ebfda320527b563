"""The outcome of one check."""

from typing import NamedTuple

# The diagnosis of a check that ended in an error of its own, since the values were so strange.
NOT_UNDERSTOOD = "not understood"


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
