"""Which known mistakes an earlier run of the same check rules out.

A check runs a function with several inputs. If one run came out right, where a mistake would have
shown, that mistake alone cannot be what is wrong in the next run; something that differs between
the two is.

It rules out nothing by one element of many, which a file may treat by itself, as a border or an
end; nor by a run with a zero among its numbers, in which little is left to do.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.advice.diagnosis import Candidates
from lessons.grading.advice.unwritten import Diagnosis

CLEARLY = 4.0  # times the tolerance
FEWEST = 2  # elements in which a mistake has to show, if there are more than one
OR = "Or, which leaves the same here:"
PARTS = r" and |,|^terms "  # in the code of several mistakes, or of what one mistake leaves
# A candidate that was fitted to the result, and says what stands there: beside one that says why,
# it is no other mistake. In its code, or in its sentence.
FITTED = (
    r"^(of )?(other|the wrong|wrong|made of|at another|at \(?x|weighed otherwise|of two|two calls|"
    r"only sample|more bits|(places|weights) of the corners)"
)
FITTED_SENTENCE = r"holds? .* and should hold|counts? -?[\d.e-]+ times|^\d+ of the \d+ "


class RightRun(NamedTuple):
    what: str  # which function was run, and what was compared
    run: str  # as a message tells it
    shows: Callable[[Collection[str]], set[str]]  # of some codes, which would have shown


class RightRuns:
    """What came out right so far, and which known mistakes would have shown there."""

    def __init__(self) -> None:
        self.runs: list[RightRun] = []

    def keep(self, what: str, run: str, shows: Callable[[Collection[str]], set[str]]) -> None:
        self.runs.append(RightRun(what, run, shows))

    def likeliest(
        self,
        what: str,
        run: str,
        known: Candidates,
        diagnosed: Callable[[Candidates], Diagnosis],
    ) -> Diagnosis:
        """The diagnosis with those candidates that are not ruled out, if one of them fits.

        run: the one that is wrong. diagnosed: what is said with some of the candidates.
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
        return Diagnosis(first.code, f"{first.sentence} {but(out[first.code], run)}")

    def ruled_out(self, what: str, codes: Collection[str]) -> dict[str, str]:
        """Those of these codes that are ruled out, and the run that does it."""
        found: dict[str, str] = {}
        for right in self.runs:
            if right.what == what:
                found |= dict.fromkeys(right.shows(set(codes) - found.keys()), right.run)
        return found


def but(right: str, now: str) -> str:
    """What is said of a mistake that a right run rules out, if no other one fits.

    It says no more than what was seen: a file may have made the mistake in a part of the cases.
    """
    told = came_out_right(right, now)
    return f"But {told[0].lower()}{told[1:]}"


def came_out_right(right: str, now: str) -> str:
    """Of a run that is wrong: with which one, that was right, to compare it."""
    if right == now:
        return "An earlier run of the same sizes, with other numbers, came out right."
    return f"This came out right: {right}. What is different here?"


def with_another(
    first: Diagnosis, known: Candidates, diagnosed: Callable[[Candidates], Diagnosis]
) -> Diagnosis:
    """The diagnosis, and the sentence of another mistake that leaves the same."""
    if re.search(PARTS, first.code):
        return first
    others = {
        code: result
        for code, result in known.items()
        if code != first.code and not re.search(f"{PARTS}|{FITTED}", code)
    }
    other = diagnosed(others)
    if other.code not in others or not are_two_mistakes(first, other):
        return first
    return Diagnosis(first.code, either(first.sentence, other.sentence))


def either(sentence: str, other: str) -> str:
    """Two sentences of which one is true, told as one; names such as ReLU keep their letters."""
    word = other.partition(" ")[0]
    begins = other[:1].lower() if word[1:].islower() or word == "A" else other[:1]
    return f"{sentence} {OR} {begins}{other[1:]}"


def are_two_mistakes(first: Diagnosis, other: Diagnosis) -> bool:
    """Whether two sentences tell different mistakes, and not the same one in other words."""
    if is_fitted(first) or is_fitted(other):
        return False
    one, two = (said.sentence.rstrip(".").lower() for said in (first, other))
    return one not in two and two not in one


def is_fitted(said: Diagnosis) -> bool:
    """Whether a sentence describes the result, whatever has led to it."""
    return bool(re.search(FITTED, said.code) or re.search(FITTED_SENTENCE, said.sentence))


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
        if shows(np.asarray(result), expected, tolerance):
            found.add(code)
    return found


def shows(result: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Whether so many elements differ that a right result rules out what this one comes from."""
    places = clearly_different(result, expected, tolerance)
    return int(np.count_nonzero(places)) >= min(FEWEST, max(1, expected.size))


def is_clearly_different(result: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.any(clearly_different(result, expected, tolerance)))


def clearly_different(
    result: np.ndarray, expected: np.ndarray, tolerance: float
) -> np.ndarray | bool:
    if result.shape != expected.shape:
        return False
    return ~np.isclose(result, expected, rtol=0, atol=CLEARLY * tolerance, equal_nan=True)
