"""Which numbers of two files belong to the same threads, and whether they are the same."""

from typing import NamedTuple

import numpy as np

from lessons.grading.exchange.computed import Series

ROUNDING = 1e-4  # of a number, by which another may differ that is the same
OF_LARGEST = 1e-6  # of the largest number
SHARED_PART = 0.5  # of the numbers of an expression that have a partner, at least


class Pair(NamedTuple):
    """Numbers of two expressions, thread by thread, and of a thread in the order of time."""

    threads: np.ndarray
    mine: np.ndarray
    ours: np.ndarray


def by_thread(series: Series) -> Series:
    order = np.argsort(series.threads, kind="stable")
    return series._replace(threads=series.threads[order], values=series.values[order])


def pair_of(mine: Series, ours: Series) -> Pair | None:
    """Both by thread; threads that have more numbers in one of them are left out.

    None if few are left, or if they are of different kinds: whole, real, true or false.
    """
    if kind(mine.values) != kind(ours.values):
        return None
    if np.array_equal(mine.threads, ours.threads):
        return Pair(mine.threads, mine.values, ours.values)
    if not len(mine.threads) or not len(ours.threads):
        return None
    most = int(max(mine.threads[-1], ours.threads[-1])) + 1
    counts = np.bincount(mine.threads, minlength=most), np.bincount(ours.threads, minlength=most)
    shared = (counts[0] == counts[1]) & (counts[0] > 0)
    here, there = shared[mine.threads], shared[ours.threads]
    if here.sum() < SHARED_PART * max(len(here), len(there)):
        return None
    return Pair(mine.threads[here], mine.values[here], ours.values[there])


def kind(values: np.ndarray) -> str:
    return "i" if values.dtype.kind in "iu" else values.dtype.kind


def equal(pair: Pair) -> np.ndarray:
    """Where the numbers of a pair are the same."""
    if kind(pair.mine) != "f":
        return pair.mine == pair.ours
    mine, ours = pair.mine.astype(np.float64), pair.ours.astype(np.float64)
    largest = float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(mine - ours) <= ROUNDING * np.abs(ours) + OF_LARGEST * largest
    near &= np.isfinite(ours)  # beside infinity everything would be near
    return near | (mine == ours) | (np.isnan(mine) & np.isnan(ours))
