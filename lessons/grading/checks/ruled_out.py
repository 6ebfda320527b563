"""Which known mistakes an earlier run of the same check rules out.

A check runs a function with several inputs. If one run came out right, where a mistake would have
shown, that mistake alone cannot be what is wrong in the next run; something that differs between
the two is.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from lessons.grading.advice.diagnosis import Candidates
from lessons.grading.advice.unwritten import Diagnosis

CLEARLY = 4.0  # times the tolerance
BUT = (
    "But an earlier run of this check came out right, where it would have shown: what is different "
    "here?"
)

OR = "Or, which leaves the same here:"
PARTS = r" and |,|^terms "  # in the code of several mistakes, or of what one mistake leaves


class RightRuns:
    """What came out right so far, and which known mistakes would have shown there."""

    def __init__(self) -> None:
        self.shows: list[tuple[str, Callable[[Collection[str]], set[str]]]] = []

    def keep(self, what: str, shows: Callable[[Collection[str]], set[str]]) -> None:
        """what: which function was run, and what was compared. shows: of some codes, which."""
        self.shows.append((what, shows))

    def likeliest(
        self, what: str, known: Candidates, diagnosed: Callable[[Candidates], Diagnosis]
    ) -> Diagnosis:
        """The diagnosis with those candidates that are not ruled out, if one of them fits.

        diagnosed: what is said with some of the candidates.
        """
        first = diagnosed(known)
        if first.code not in known:
            return first
        out = self.ruled_out(what, known)
        possible = {code: result for code, result in known.items() if code not in out}
        if first.code in possible:
            return with_another(first, possible, diagnosed)
        other = diagnosed(possible)
        if other.code in possible:
            return with_another(other, possible, diagnosed)
        return Diagnosis(first.code, f"{first.sentence} {BUT}")

    def ruled_out(self, what: str, codes: Collection[str]) -> set[str]:
        found: set[str] = set()
        for earlier, shows in self.shows:
            if earlier == what:
                found |= shows(set(codes) - found)
        return found


def with_another(
    first: Diagnosis, known: Candidates, diagnosed: Callable[[Candidates], Diagnosis]
) -> Diagnosis:
    """The diagnosis, and the sentence of another mistake that leaves the same."""
    if re.search(PARTS, first.code):
        return first
    others = {
        code: result
        for code, result in known.items()
        if code != first.code and not re.search(PARTS, code)
    }
    other = diagnosed(others)
    if other.code not in others or other.sentence == first.sentence:
        return first
    return Diagnosis(first.code, f"{first.sentence} {OR} {other.sentence}")


def would_show(
    known: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    expected: np.ndarray,
    tolerance: float,
    codes: Collection[str],
) -> set[str]:
    """Which of these codes leave something else than expected; as `Verdict.expect` has them."""
    if not codes:
        return set()
    results = known() if callable(known) else known
    found = set()
    for code in results.keys() & set(codes):
        result = results[code][0] if isinstance(results[code], tuple) else results[code]
        if is_clearly_different(np.asarray(result), expected, tolerance):
            found.add(code)
    return found


def is_clearly_different(result: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    if result.shape != expected.shape:
        return False
    return not np.allclose(result, expected, rtol=0, atol=CLEARLY * tolerance, equal_nan=True)
