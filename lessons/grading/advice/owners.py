"""Sums of which each has one owner, a thread of the block: who has none, or more than one."""

from collections.abc import Sequence

import numpy as np

NOTHING = 1e-3  # of the largest: how often so small a sum was added cannot be told
FEWEST = 8  # sums that have to tell it; few are explained by accident


def other_owners(
    groups: Sequence[tuple[np.ndarray, np.ndarray]], width: int, height: int
) -> tuple[list[np.ndarray], str] | None:
    """(what each group of sums would be, sentence), if sums are added other than once; or None.

    groups: (right sums, what was added) of one block, each in the order in which the sums are
    numbered. width, height: of the block.
    """
    times = [times_added(*group) for group in groups]
    if any(one is None for one in times):
        return None
    counted = [one for one in times if one is not None]
    every = np.concatenate(counted)
    known = every[~np.isnan(every)]
    said = why(counted, width, height)
    alike = bool(known.size) and known.min() == known.max()
    if known.size < FEWEST or (alike and (known[0] == 1 or not said)):
        return None
    found = [
        np.where(np.isnan(one), added, right * one)
        for one, (right, added) in zip(counted, groups, strict=True)
    ]
    return found, said or (
        f"{np.count_nonzero(known == 0)} of the {every.size} sums are not added, and "
        f"{np.count_nonzero(known > 1)} are added more than once, up to {known.max():.0f} times: "
        "each has one owner, a thread, which adds it once."
    )


def times_added(right: np.ndarray, added: np.ndarray) -> np.ndarray | None:
    """How often each sum was added, NaN where it is too small to tell; None if that is no count."""
    if not np.isfinite(added).all():
        return None
    large = np.abs(right) > NOTHING * np.abs(right).max(initial=0)
    times = np.full(right.shape, np.nan)
    times[large] = np.rint(added[large] / right[large])
    far = np.abs(added[large] - times[large] * right[large]) > 0.01 * np.abs(right[large])
    return None if far.any() or (times[large] < 0).any() else times


def why(counted: Sequence[np.ndarray], width: int, height: int) -> str:
    """Which numbers threads have taken for their own, if that explains the counts; else ""."""
    y, x = np.indices((height, width)).reshape(2, -1)
    threads = width * height
    number = f"threadIdx.y * {width} + threadIdx.x"
    numbers = {"threadIdx.x alone": x, "threadIdx.y alone": y, "threadIdx.x + threadIdx.y": x + y}
    numbers[number] = y * width + x
    for step in (threads, width, 32, 1):
        fitting = [
            name
            for name, begin in numbers.items()
            if all(explains(begin, step, times) for times in counted)
        ]
        if fitting == [number]:
            return (
                f"Threads go on to their next sum in steps of {step}: there are {threads} of them, "
                "so the next one that nobody else has is as many further on."
            )
        if fitting and number not in fitting:
            steps = "" if step == threads else f", and goes on in steps of {step}, not {threads}"
            return (
                f"A thread takes {' or '.join(fitting)} for its number in the block, which "
                f"is {number}{steps}: so some sums have many owners, and others perhaps none."
            )
    return ""


def explains(begin: np.ndarray, step: int, times: np.ndarray) -> bool:
    counts = np.zeros(times.size)
    for first in begin:
        counts[first::step] += 1
    return bool(np.array_equal(counts[~np.isnan(times)], times[~np.isnan(times)]))
