"""How a kernel counts the elements of an array: row by row, wherever they lie in memory."""

import math
from typing import NamedTuple

import numpy as np

from .arrays import Memory, Shape, row_major_strides


class Layout(NamedTuple):
    """An array as a kernel sees it.

    strides: bytes from one element to the next along each axis; None if they stand one after
    another. first: bytes from the memory's address to the element with all indices 0.
    """

    name: str  # "values"; of a field, "particles.x"
    shape: Shape
    strides: Shape | None = None
    first: int = 0


def layout_of(memory: Memory) -> Layout:
    """The layout of one instance of a memory; of a field, that of all its records."""
    itemsize = memory.data.dtype.itemsize
    shape = tuple(int(n) for n in memory.shape)
    if memory.whole is not None:
        name, records, strides, first = layout_of(memory.whole)
        outer = strides or row_major_bytes(records, memory.whole.pitch)
        inner = row_major_bytes(shape, itemsize)
        return Layout(f"{name}.{memory.name}", records + shape, outer + inner, first)
    if memory.strides is not None and not is_ambiguous(shape, memory.strides):
        strides = tuple(step * memory.pitch for step in memory.strides)
        first = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
        return Layout(memory.name, shape, strides, first)
    if math.prod(shape) == memory.instance and memory.pitch == itemsize:
        return Layout(memory.name, shape)
    # Elements that several indices reach, or a raster of bytes, are shown as they lie there.
    return Layout(memory.name, (memory.instance,), (memory.pitch,))


def row_major(memory: Memory, element: np.ndarray) -> np.ndarray:
    """(n,) int: the numbers of elements, row by row, one instance of the array after another.

    element: (n,) int, of memory.data.
    """
    if memory.whole is not None:
        record, within = np.divmod(element, memory.whole.pitch // memory.pitch)
        item = within * memory.pitch // memory.data.dtype.itemsize
        return row_major(memory.whole, record) * math.prod(memory.shape) + item
    if memory.strides is None or is_ambiguous(memory.shape, memory.strides):
        return element
    indices = indices_by_strides(memory.shape, memory.strides, element)
    steps = row_major_strides(memory.shape)
    return sum((i * step for i, step in zip(indices, steps, strict=True)), np.zeros_like(element))


def indices_by_strides(shape: Shape, strides: Shape, element: np.ndarray) -> list[np.ndarray]:
    """For each axis, (n,) int: the index of each element, counted from the first in memory.

    strides: in elements; a negative one counts from its end. None may be ambiguous.
    """
    indices = [np.zeros_like(element)] * len(shape)
    rest = element
    for axis in sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])):
        if shape[axis] > 1:
            index, rest = np.divmod(rest, abs(strides[axis]))
            indices[axis] = shape[axis] - 1 - index if strides[axis] < 0 else index
    return indices


def is_ambiguous(shape: Shape, strides: Shape) -> bool:
    """Whether two indices may reach one element."""
    reach = 0
    axes = zip(strides, shape, strict=True)
    for step, length in sorted((abs(step), length) for step, length in axes if length > 1):
        if step <= reach:
            return True
        reach += step * (length - 1)
    return False


def row_major_bytes(shape: Shape, itemsize: int) -> Shape:
    return tuple(step * itemsize for step in row_major_strides(shape))
