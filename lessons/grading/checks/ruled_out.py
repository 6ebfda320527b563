"""Which known mistakes an earlier run of the same check rules out.

A check runs a function with several inputs. If one run came out right, where a mistake would have
shown, that mistake alone cannot be what is wrong in the next run; something that differs between
the two is.
"""

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
        if first.code not in known or not self.ruled_out(what, [first.code]):
            return first
        out = self.ruled_out(what, known)
        other = diagnosed({code: result for code, result in known.items() if code not in out})
        if other.code in known and other.code not in out:
            return other
        return Diagnosis(first.code, f"{first.sentence} {BUT}")

    def ruled_out(self, what: str, codes: Collection[str]) -> set[str]:
        found: set[str] = set()
        for earlier, shows in self.shows:
            if earlier == what:
                found |= shows(set(codes) - found)
        return found


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
