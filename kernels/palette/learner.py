"""A palette that is learned: where the centres begin, and rounds of two steps.

    points (n, d)  ->  centres (k, d), labels (n,), distances (n,)

The idea: each point takes the nearest centre, each centre moves to the mean of its points, and the
sum of squared distances can only fall. Source: see `assign.py` and `draw.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.palette.accumulate import launch_accumulate, launch_move
from kernels.palette.assign import MAX_NUMBERS, launch_assign
from kernels.palette.draw import NOBODY, launch_draw, launch_place
from kernels.plumbing.errors import InputError


class Stages(NamedTuple):
    """One launch function per stage; a lesson puts a student's in the place of these."""

    assign: Callable[..., None] = launch_assign
    accumulate: Callable[..., None] = launch_accumulate
    move: Callable[..., None] = launch_move
    draw: Callable[..., None] = launch_draw


class Arrays(NamedTuple):
    """All that a round reads and writes, where the kernels run."""

    points: Any  # (n, d) float32
    centres: Any  # (k, d) float32
    labels: Any  # (n,) int32
    distances: Any  # (n,) float32, squared
    winners: Any  # (k,) int64


def make_arrays(points, count, to_device):
    """The `Arrays` for `count` centres, which are nowhere yet. points: (n, d) float32, NumPy's.

    Raises `InputError` if the centres have more than MAX_NUMBERS numbers together, or there is
    none.
    """
    channels = points.shape[1]
    most = MAX_NUMBERS // channels
    if not 1 <= count <= most:
        raise InputError(f"{count} centres of {channels} numbers: there may be 1 to {most}")
    return Arrays(
        to_device(points),
        to_device(np.zeros((count, channels), np.float32)),
        to_device(np.zeros(len(points), np.int32)),
        to_device(np.ones(len(points), np.float32)),
        to_device(np.full(count, NOBODY, np.int64)),
    )


def first_centres(stages, arrays, seed, launch):
    """Put every centre on a point: k-means++. For the first one all points have the same chance."""
    for number in range(arrays.centres.shape[0]):
        stages.draw(
            arrays.points, arrays.centres, number, np.uint64(seed), arrays.distances,
            arrays.winners, launch=launch,
        )  # fmt: skip
        launch_place(arrays.points, arrays.winners, number, arrays.centres, launch)


def one_round(stages, arrays, launch, to_device):
    """Give every point its nearest centre, then move the centres.

    `distances` are those before the centres have moved.
    """
    stages.assign(arrays.points, arrays.centres, arrays.labels, arrays.distances, launch=launch)
    centres = arrays.centres.shape
    sums = to_device(np.zeros(centres, np.float32))
    counts = to_device(np.zeros(centres[0], np.int32))
    stages.accumulate(arrays.points, arrays.labels, sums, counts, launch=launch)
    stages.move(sums, counts, arrays.centres, launch=launch)
