"""What a student's function does to arrays itself, between the stages that it calls.

The worker compares the arrays before a stage with what the stage before has left.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.worker.text import printable

MOST_LOOKED_AT = 100  # calls of stages: a whole training would be copied again and again
CLEARED, TIMES, CUT_OFF, OTHERWISE = "cleared", "times", "cut off", "otherwise"
WAYS = CLEARED, TIMES, CUT_OFF, OTHERWISE
ROUNDING = 1e-5  # of a product, as a part of it


class Change(NamedTuple):
    array: str  # such as "arrays.loss_sum"
    how: str
    amount: float  # the factor, or the largest size that is left


def read_change(received: Any) -> Change:
    """A change in a worker's reply. Raises `ValueError` or `TypeError` for nonsense."""
    array, how, amount = received
    if how not in WAYS:
        raise ValueError("no way to change an array")
    return Change(printable(str(array)[:100]), how, float(amount))


class OwnChanges:
    """Looks at arrays at each call of a stage, up to `MOST_LOOKED_AT` calls."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.left: dict[str, np.ndarray] = {}  # what they held after the last stage
        self.looks = 0

    def watch(self, arrays: Mapping[str, Any]) -> None:
        """Begin anew with these; on a GPU they are elsewhere, and none is watched."""
        self.arrays = {name: a for name, a in arrays.items() if isinstance(a, np.ndarray)}
        self.looks = 0
        self.keep()

    def keep(self) -> None:
        """What the arrays hold now is no change of the student's."""
        self.looks += 1
        enough = self.looks > MOST_LOOKED_AT
        self.left = {} if enough else {name: a.copy() for name, a in self.arrays.items()}

    def since(self) -> list[Change]:
        """What has changed since."""
        return [
            Change(name, *how_changed(before, self.arrays[name]))
            for name, before in self.left.items()
            if before.tobytes() != self.arrays[name].tobytes()
        ]


def how_changed(before: np.ndarray, after: np.ndarray) -> tuple[str, float]:
    """(how, amount) of a `Change`."""
    if not np.isfinite(before).all() or not np.isfinite(after).all():
        return OTHERWISE, 0.0
    before, after = before.astype(np.float64), after.astype(np.float64)
    if not after.any():
        return CLEARED, 0.0
    largest = float(np.abs(after).max())
    if np.array_equal(after, np.clip(before, -largest, largest)):
        return CUT_OFF, largest
    at = np.unravel_index(np.abs(before).argmax(), before.shape)
    factor = float(after[at] / before[at]) if before[at] else 0.0
    if np.allclose(after, factor * before, rtol=ROUNDING, atol=ROUNDING * largest):
        return TIMES, factor
    return OTHERWISE, 0.0
