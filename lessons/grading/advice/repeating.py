"""A pattern of places: what is wrong comes again every so many rows, and all between is right.

It does not tell the mistake, but which of the things that take turns has it: one of the eight
samples of a thread, say, or one line of a loop that was unrolled by hand.
"""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

FEWEST_ROUNDS = 3  # that are seen whole, so that it is no accident
LONGEST_ROUND = 64
MOST_OF_A_ROW = 0.5  # that is wrong; a few wrong numbers may be anywhere
MOST_PLACES = 8  # of a round, that are written out


def in_every_round(comparison: Comparison) -> Diagnosis | None:
    """Along one axis, the same places of each round are wrong, and only these."""
    if comparison.clues.answers:  # of inputs that were chosen: nothing takes turns there
        return None
    for axis, length in enumerate(comparison.got.shape):
        others = tuple(other for other in range(comparison.got.ndim) if other != axis)
        wrong = np.atleast_1d(comparison.wrong.any(axis=others))
        # Zeros that are right may be so by accident: whatever is summed, nothing is there.
        something = np.atleast_1d((comparison.expected != 0).any(axis=others))
        if not something[~wrong].any():
            continue
        if not wrong.any() or comparison.wrong.compress(wrong, axis).mean() < MOST_OF_A_ROW:
            continue
        size = length_of_round(wrong, min(LONGEST_ROUND, length // FEWEST_ROUNDS))
        places = np.flatnonzero(wrong[:size]).tolist()
        if places and len(places) <= min(MOST_PLACES, size - 1):
            names = ", ".join(map(str, places))
            return Diagnosis(
                "wrong in every round",
                f"Along axis {axis}, of each {size} indices only number {names} is wrong, counted "
                "from 0: what is done there in another way than for its neighbours?",
            )
    return None


def length_of_round(wrong: np.ndarray, longest: int) -> int:
    """After how many places they come again, in all of an array of bools; 0 if they do not."""
    for size in range(2, longest + 1):
        if (wrong[size:] == wrong[:-size]).all():
            return size
    return 0
