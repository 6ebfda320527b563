"""Which terms of a sum are counted: how often each is, read off from a result that is wrong.

Each element of the result is a sum of the same number of terms. If there are more elements than
terms, the equations `sum of times[k] * terms[k] = got` tell the times.
"""

import itertools
from collections.abc import Sequence

import numpy as np

MOST_TIMES = 300  # that a term is counted; more is something else
MOST_LISTED = 6  # numbers that are written out
WHOLE = 1e-2  # how near to a whole number the times have to be


def counted_otherwise(
    got: np.ndarray, terms: np.ndarray, what: str
) -> dict[str, tuple[np.ndarray, str]]:
    """code -> (result, sentence), if the result has some of the terms too often or not at all.

    got: any shape. terms: (number of terms, *shape of got), float64. what: of which the sums are,
    such as "products". Empty if that is not what is wrong.
    """
    times = times_counted(np.asarray(got, np.float64), terms)
    if times is None or (times == 1).all():
        return {}
    result = np.tensordot(times, terms, axes=1)
    left_out, again = np.flatnonzero(times == 0), np.flatnonzero(times > 1)
    if len(left_out) == len(times) or (len(left_out) and len(again)):
        return {}
    if len(left_out):
        which = numbers_in_words(left_out.tolist())
        return {
            "terms left out": (
                result,
                f"Some {what} are left out: number {which} (the first is number 0).",
            )
        }
    which = numbers_in_words(again.tolist())
    often = sorted(set(times[again].astype(int).tolist()))
    how = f"{often[0]} times" if len(often) == 1 else f"{often[0]} to {often[-1]} times"
    sentence = f"Some {what} are added {how}, and not once: number {which} (the first is number 0)."
    return {"terms counted again": (result, sentence)}


def times_counted(got: np.ndarray, terms: np.ndarray) -> np.ndarray | None:
    """How often each term is in the sums: (number of terms,) whole numbers; None if unknown."""
    matrix = terms.reshape(len(terms), -1).T
    known = np.isfinite(got).all() and matrix.shape[0] >= 2 * matrix.shape[1]
    if not known:
        return None
    times, _, rank, _ = np.linalg.lstsq(matrix, got.ravel(), rcond=None)
    whole = np.rint(times)
    near = np.abs(times - whole).max(initial=0.0) < WHOLE
    fine = near and whole.min() >= 0 and whole.max() <= MOST_TIMES
    return whole if rank == matrix.shape[1] and fine else None


def numbers_in_words(numbers: Sequence[int]) -> str:
    """A list of whole numbers that rise: "3, 7, 11 and so on up to 31"."""
    first, last = numbers[0], numbers[-1]
    steps = {later - before for before, later in itertools.pairwise(numbers)}
    if len(numbers) > 2 and steps == {1}:
        return f"{first} to {last}"
    if len(numbers) > MOST_LISTED and len(steps) == 1:
        return ", ".join(map(str, numbers[:3])) + f" and so on up to {last}"
    if len(numbers) > MOST_LISTED:
        return (
            ", ".join(map(str, numbers[:MOST_LISTED])) + f" and {len(numbers) - MOST_LISTED} more"
        )
    return ", ".join(map(str, numbers))
