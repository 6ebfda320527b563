"""Patterns of whole rows or channels: what belongs elsewhere, or has been changed in the same way.

A pattern counts only if it explains every row, or every channel, that is wrong.
"""

from collections.abc import Callable, Sequence

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

FEWEST_NUMBERS = 3  # in a row, so that it is known by its numbers
MOST_COMPARED = 4_000_000  # numbers; a small input tells as much
MOST_CHANNELS = 64
Pattern = Callable[[Comparison], Diagnosis | None]


def of_another_index(comparison: Comparison) -> Diagnosis | None:
    """Each wrong row, or column, is that of another index."""
    shape = comparison.got.shape
    for axis, length in enumerate(shape):
        row = comparison.got.size // max(1, length)
        if len(shape) < 2 or length < 2 or row < FEWEST_NUMBERS or row * length**2 > MOST_COMPARED:
            continue
        taken = taken_from(comparison, axis)
        if taken:
            first = "; ".join(f"index {i} holds what belongs to index {j}" for i, j in taken[:2])
            more = f" (and {len(taken) - 2} more)" if len(taken) > 2 else ""
            return Diagnosis(
                "of another index",
                f"Along axis {axis}, {first}{more}: which index is stored, and which one is read?",
            )
    return None


def taken_from(comparison: Comparison, axis: int) -> list[tuple[int, int]]:
    """Pairs of an index that is wrong and the one whose numbers it has; or none at all."""
    got = np.moveaxis(comparison.got, axis, 0).reshape(comparison.got.shape[axis], -1)
    expected = np.moveaxis(comparison.expected, axis, 0).reshape(got.shape)
    taken = []
    for i in np.flatnonzero(~comparison.close(got, expected).all(axis=1)):
        same = np.flatnonzero(comparison.close(got[i], expected).all(axis=1))
        if len(same) != 1:  # several are alike, and tell nothing
            return []
        taken.append((int(i), int(same[0])))
    return taken


def of_all_channels(comparison: Comparison) -> Diagnosis | None:
    """Every channel holds what all of them make together."""
    got, expected = comparison.got, comparison.expected
    if got.ndim < 2 or not 2 <= got.shape[-1] <= MOST_CHANNELS:
        return None
    together = {
        "the mean of all channels": expected.mean(axis=-1, keepdims=True),
        "the sum of all channels": expected.sum(axis=-1, keepdims=True),
        "the largest of all channels": expected.max(axis=-1, keepdims=True),
    }
    for what, values in together.items():
        if comparison.explains(np.broadcast_to(values, got.shape)):
            return Diagnosis(
                "of all channels",
                f"Along the last axis, every element holds {what}: each has a value of its own.",
            )
    return None


def the_same_in_some_channels(
    comparison: Comparison, patterns: Sequence[Pattern]
) -> Diagnosis | None:
    """One of these patterns in every channel that is wrong, and others that are right."""
    got, expected = comparison.got, comparison.expected
    if got.ndim < 2 or not 2 <= got.shape[-1] <= MOST_CHANNELS:
        return None
    wrong = np.flatnonzero(comparison.wrong.reshape(-1, got.shape[-1]).any(axis=0))
    if not 0 < len(wrong) < got.shape[-1]:
        return None
    found = set()
    for channel in wrong:
        part = comparison.of(expected[..., channel], got[..., channel])
        found.add(next((one for pattern in patterns if (one := pattern(part))), None))
    diagnosis = found.pop() if len(found) == 1 else None
    if diagnosis is None:
        return None
    names = ", ".join(map(str, wrong[:8])) + (" ..." if len(wrong) > 8 else "")
    sentence = diagnosis.sentence[0].lower() + diagnosis.sentence[1:]
    where = f"Where the last index is {names}, and only there"
    return Diagnosis(diagnosis.code, f"{where}: {sentence}")
