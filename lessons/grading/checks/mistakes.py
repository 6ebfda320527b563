"""Recognise a mistake by all the arrays that a run has left, never by one number alone.

A check that knows what a forgotten term does computes, for each such mistake, every array that the
kernel would leave. The mistake is named only if it explains them all; two mistakes that agree in
one sum seldom agree in everything.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lessons.grading.advice.comparison import Threads, differing
from lessons.grading.advice.unwritten import Diagnosis
from lessons.grading.checks.case import Case
from lessons.grading.checks.ruled_out import PARTS, are_two_mistakes, but, either, shows
from lessons.grading.exchange.output import Output

FEWEST_NUMBERS = 3  # in an array that one of two mistakes explains alone
Terms = TypeVar("Terms", bound=Any)  # a NamedTuple


class Left(NamedTuple):
    """An array that a run has left, and what should be in it."""

    name: str
    got: Output | np.ndarray
    expected: np.ndarray
    tolerance: float | None = None  # None for that of the check, see `Case.expect`
    threads: Threads | None = None


class Mistake(NamedTuple):
    """What a mistake leaves: an array for each name; those that are not named are right."""

    sentence: str
    arrays: Mapping[str, ArrayLike]


def expect_all(
    case: Case,
    left: Sequence[Left],
    mistakes: Mapping[str, Mistake] | Callable[[], Mapping[str, Mistake]],
    otherwise: Callable[[Mapping[str, np.ndarray]], tuple[str, str] | None] | None = None,
) -> None:
    """As `Case.expect` for several arrays; names the first mistake that explains all of them.

    Two are named together if each explains all arrays that it changes, and no other is wrong.
    mistakes: code -> `Mistake`; or a function that returns it, called only if something is wrong.
    otherwise: asked if none of them explains it; gets where the arrays that are wrong differ, and
    returns (code, sentence) of where to look, or None.
    """
    arrays = [case.as_array(array.got, array.expected, array.name) for array in left]
    pairs = list(zip(left, arrays, strict=True))
    known: Mapping[str, Mistake] = {}
    wrong = any(not same(got, array.expected, tolerance_of(case, array)) for array, got in pairs)
    what = case.what_is_compared(f"all of {[array.name for array in left]}")
    if not wrong:
        case.keep_right(what, partial(would_show_in_all, case, left, mistakes))
    if wrong and not case.brief:
        known = mistakes() if callable(mistakes) else mistakes
    fitting = [code for code, mistake in known.items() if explains(case, left, arrays, mistake)]
    ruled_out = case.right.ruled_out(what, fitting)
    fitting = [code for code in fitting if code not in ruled_out] or fitting
    for code in fitting[:1]:
        sentence = sentence_of(known, fitting)
        if code in ruled_out:
            sentence += f" {but(ruled_out[code], case.last_run)}"
        for array in left:
            shown = known[code].arrays.get(array.name, array.expected)
            expect(case, array, {code: (np.asarray(shown), sentence)})
    for code, sentence in two_apart(case, pairs, known):
        for array, got in pairs:
            expect(case, array, {code: (got.copy(), sentence)})
    look = otherwise(places_of_differences(case, pairs)) if otherwise and known else None
    for array, got in pairs:
        expect(case, array, {look[0]: (got.copy(), look[1])} if look else {})


def would_show_in_all(
    case: Case,
    left: Sequence[Left],
    mistakes: Mapping[str, Mistake] | Callable[[], Mapping[str, Mistake]],
    codes: Collection[str],
) -> set[str]:
    """As `would_show`, for the arrays that a run has left."""
    if not codes:
        return set()
    known = mistakes() if callable(mistakes) else mistakes
    return {
        code
        for code in known.keys() & set(codes)
        for array in left
        if array.name in known[code].arrays
        and shows(
            np.asarray(known[code].arrays[array.name]),
            np.asarray(array.expected),
            tolerance_of(case, array),
        )
    }


def two_apart(
    case: Case, pairs: Sequence[tuple[Left, np.ndarray]], known: Mapping[str, Mistake]
) -> Iterator[tuple[str, str]]:
    """(code, sentence) of two mistakes that change different arrays, and explain them together.

    Each is a single one: three mistakes at once are seldom what somebody has made.
    """
    known = {code: mistake for code, mistake in known.items() if not is_pair(code, known)}
    wrong = places_of_differences(case, pairs).keys()
    changed = {
        code: frozenset(
            array.name
            for array, _ in pairs
            if not same(
                np.asarray(array.expected),
                np.asarray(mistake.arrays.get(array.name, array.expected)),
                tolerance_of(case, array),
            )
        )
        for code, mistake in known.items()
    }
    for one, other in combinations(known, 2):
        names = changed[one], changed[other]
        if not all(names) or names[0] & names[1] or names[0] | names[1] != wrong:
            continue
        # A few numbers are explained by accident.
        parts = [[pair for pair in pairs if pair[0].name in part] for part in names]
        if any(got.size < FEWEST_NUMBERS for part in parts for _, got in part):
            continue
        if all(
            explains(case, [array for array, _ in part], [got for _, got in part], known[code])
            for part, code in zip(parts, (one, other), strict=True)
        ):
            yield f"{one} and {other}", f"{known[one].sentence} And: {known[other].sentence}"


def is_pair(code: str, known: Mapping[str, Mistake]) -> bool:
    """Whether a code is that of two mistakes at once; see `two_at_once`."""
    words = code.split(" and ")
    cuts = range(1, len(words))
    return any(
        " and ".join(words[:cut]) in known and " and ".join(words[cut:]) in known for cut in cuts
    )


def sentence_of(known: Mapping[str, Mistake], fitting: Sequence[str]) -> str:
    """The sentence of the first of these codes; and that of another one that leaves the same.

    Not that of two mistakes of which one is seen nowhere, nor of one in a part of the arrays.
    """
    first = Diagnosis(fitting[0], known[fitting[0]].sentence)
    if re.search(PARTS, first.code):
        return first.sentence
    alone = (
        Diagnosis(code, known[code].sentence) for code in fitting if not re.search(PARTS, code)
    )
    other = next((other for other in alone if are_two_mistakes(first, other)), None)
    return either(first.sentence, other.sentence) if other else first.sentence


def two_at_once(known: Mapping[str, tuple[Terms, str]]) -> dict[str, tuple[Terms, str]]:
    """Each two of these mistakes together: "code and code" -> (terms, both sentences).

    known: code -> (a NamedTuple of which the fields that are not at their default are wrong, a
    sentence). Two that change the same field are not possible together.
    """
    found = {}
    for (code, (terms, sentence)), (other_code, (other, other_sentence)) in combinations(
        known.items(), 2
    ):
        changed, others = changed_fields(terms), changed_fields(other)
        if not changed.keys() & others.keys():
            both = terms._replace(**others)
            found[f"{code} and {other_code}"] = both, f"{sentence} And: {other_sentence}"
    return found


def changed_fields(terms: NamedTuple) -> dict[str, object]:
    """The fields that are not at their default."""
    usual = terms._field_defaults
    return {name: value for name, value in terms._asdict().items() if value != usual.get(name)}


def places_of_differences(
    case: Case, pairs: Sequence[tuple[Left, np.ndarray]]
) -> dict[str, np.ndarray]:
    """name -> where an array is wrong, as bools; only those that are."""
    places = {
        array.name: differing(got, np.asarray(array.expected), tolerance_of(case, array))
        for array, got in pairs
    }
    return {name: differs for name, differs in places.items() if differs.any()}


def expect(case: Case, array: Left, candidates: dict[str, tuple[np.ndarray, str]]) -> None:
    case.expect(
        array.got,
        array.expected,
        array.name,
        array.threads,
        tolerance=array.tolerance,
        candidates=candidates,
    )


def explains(
    case: Case, left: Sequence[Left], arrays: Sequence[np.ndarray], mistake: Mistake
) -> bool:
    """Whether all arrays are what the mistake leaves, and one of them is not what it should be."""
    telling = False
    for array, got in zip(left, arrays, strict=True):
        expected = np.asarray(array.expected)
        tolerance = tolerance_of(case, array)
        result = np.asarray(mistake.arrays.get(array.name, expected))
        if not same(got, result, tolerance * growth(expected, result)):
            return False
        telling |= not same(expected, result, tolerance)
    return telling


def tolerance_of(case: Case, array: Left) -> float:
    if array.tolerance is not None:
        return array.tolerance
    return case.usual_tolerance(np.asarray(array.expected))


def growth(expected: np.ndarray, result: np.ndarray) -> float:
    """How much larger than the right result a wrong one is; rounding errors are as well."""
    usual = np.nanmax(np.abs(expected), initial=0.0)
    finite = np.where(np.isfinite(result), np.abs(result), 0.0)
    with np.errstate(over="ignore"):  # beside numbers that are next to nothing
        return max(1.0, float(np.max(finite, initial=0.0) / usual)) if usual > 0 else 1.0


def same(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays agree; NaN agrees with NaN, and infinity with itself."""
    if first.shape != second.shape:
        return False
    different = differing(first, second, tolerance) & (first != second)
    both = np.isnan(first.astype(np.float64)) & np.isnan(second.astype(np.float64))
    return not (different & ~both).any()
