"""One instruction that touches memory; the index and the name of each element."""

import ast
import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...numba_types import Number
from ..findings import Place
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


# ---------------------------------------------------------------- an access, and names of elements


Kind: TypeAlias = Literal["read", "write", "atomic"]


class Access(NamedTuple):
    """n threads touch one element each, in one instruction."""

    memory: Memory
    element: np.ndarray  # (n,) int: of memory.data
    positions: np.ndarray | None  # (n,) int: of the threads in their team; None: all of the team
    thread: np.ndarray  # (n,) int: their numbers in the launch
    kind: Kind
    node: ast.expr
    value: Number | None  # what is stored, one for all or (n,); None unless kind is "write"
    acquires: bool = False  # for kind "atomic": whether the kernel looks at what was there before


def name_element(memory: Memory, element: int) -> str:
    """ "tile[3, 4]", "particles[3].x": an element of memory.data as the kernel would index it."""
    if memory.whole is not None:
        record, within = divmod(int(element), memory.whole.pitch // memory.pitch)
        return f"{name_element(memory.whole, record)}.{name_in_record(memory, within)}"
    index = index_of(memory, element)
    if index is None:
        return f"{memory.name} (element {number_within(memory, element)})"
    return f"{memory.name}[{', '.join(map(str, index))}]"


def name_in_record(memory: Memory, within: int) -> str:
    """ "x", "corner[1]": an element of a field of one record."""
    item = within * memory.pitch // memory.data.itemsize
    if not memory.shape or item >= int(np.prod(memory.shape)):
        return memory.name
    place = ", ".join(str(int(i)) for i in np.unravel_index(item, memory.shape))
    return f"{memory.name}[{place}]"


def index_of(memory: Memory, element: int) -> tuple[int, ...] | None:
    """The index of an element of memory.data; None if the array's shape does not tell.

    Of a field of a record, the index of the record.
    """
    if memory.whole is not None:
        return index_of(memory.whole, int(element) // (memory.whole.pitch // memory.pitch))
    layout = layout_of(memory)
    if layout.shape != memory.shape:
        return None
    number = int(row_major(memory, np.array(number_within(memory, element))))
    return tuple(int(i) for i in np.unravel_index(number, layout.shape))


def written_around(memory: Memory, written: np.ndarray, element: int) -> str:
    """ "a[15] and a[17] are written": what is nearest to a hole in a flat shared array; or ""."""
    if memory.space != "shared" or len(memory.shape) != 1:
        return ""
    begin = int(element) - number_within(memory, element)
    known = begin + np.flatnonzero(written[begin : begin + memory.instance])
    before, after = known[known < element], known[known > element]
    if not (len(before) and len(after)):
        return ""
    names = [name_element(memory, place) for place in (before[-1], after[0])]
    return f"{names[0]} and {names[1]} are written"


def number_within(memory: Memory, element: int) -> int:
    """The number of an element within its own array, of which each block or thread has one."""
    return int(element) % memory.instance if memory.space != "global" else int(element)


def place_of_element(place: Place, memory: Memory, element: int) -> Place:
    """The place of a finding, with the array and index filled in."""
    return place._replace(array=memory.name, index=index_of(memory, element))
