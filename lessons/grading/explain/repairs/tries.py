"""Runs changed texts, as many as may be, and says what other checks make of them."""

from collections.abc import Callable
from enum import IntEnum


class Held(IntEnum):
    """What other checks say of a changed text that passes the one which has failed."""

    BREAKS = 0  # one that the student's text passes fails
    SOME = 1  # one that the student's text fails, too, still fails
    ALL = 2


class OutOfTries(Exception):
    """As many changed texts were run as may be, or the time is up."""


class Tries:
    """Runs changed texts, each once, and counts them.

    passes: (text, sure) -> whether the check passes; sure: with other random numbers as well.
    """

    def __init__(self, passes: Callable[[str, bool], bool], most: int) -> None:
        self.passes = passes
        self.left = most
        self.known: dict[tuple[str, bool], bool] = {}

    def __call__(self, text: str, sure: bool = False) -> bool:
        if (text, sure) not in self.known:
            if self.left <= 0:
                raise OutOfTries
            self.left -= 1
            self.known[text, sure] = self.passes(text, sure)
        return self.known[text, sure]
