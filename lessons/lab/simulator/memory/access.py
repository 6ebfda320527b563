"""One instruction that touches memory, as the checks see it."""

import ast
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...numba_types import Number
from ..findings import Place
from .arrays import Memory
from .layout import layout_of, row_major

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
