"""Which bytes an array covers, and which arrays overlap."""

import math
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

Key = TypeVar("Key")


def overlapping(arrays: Iterable[tuple[Key, np.ndarray]]) -> Iterator[list[tuple[Key, np.ndarray]]]:
    """Groups of arrays that overlap in memory, each in the order of their first bytes."""
    group: list[tuple[Key, np.ndarray]] = []
    group_end = 0
    for key, array in sorted(arrays, key=lambda item: first_byte(item[1])):
        if group and first_byte(array) >= group_end:
            yield group
            group, group_end = [], 0
        group.append((key, array))
        group_end = max(group_end, end_byte(array))
    if group:
        yield group


def first_byte(array: np.ndarray) -> int:
    steps = zip(array.shape, array.strides, strict=True)
    backward = sum((n - 1) * step for n, step in steps if step < 0 and n > 0)
    return array.__array_interface__["data"][0] + backward


def end_byte(array: np.ndarray) -> int:
    return first_byte(array) + (span(array) - 1) * pitch_of(array) + array.itemsize


def pitch_of(array: np.ndarray) -> int:
    """Bytes from one element of the flat window to the next: all elements are on this raster."""
    return math.gcd(array.itemsize, *array.strides) or 1


def span(array: np.ndarray) -> int:
    """Number of elements, on the raster, from the first to the last that an array reaches."""
    if array.size == 0:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return sum((n - 1) * abs(step) for n, step in steps) // pitch_of(array) + 1


def address_on_gpu(array: np.ndarray) -> int:
    """Where an array would begin on a GPU, in bytes: at 0, unless it is a view.

    A GPU's allocations are aligned to 256 bytes, NumPy's to 16 or so; counting sectors from where
    NumPy happened to put an array would give other figures in every run.
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return max(0, first_byte(array) - first_byte(root))
