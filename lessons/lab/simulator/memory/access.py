"""One instruction that touches memory, as the checks see it."""

import ast
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from lessons.lab.numba_types import Number
from lessons.lab.simulator.memory.arrays import Memory

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


def name_element(memory: Memory, element: int) -> str:
    """ "tile[3, 4]": an element of memory.data as the kernel would index it."""
    number = int(element) % memory.instance if memory.space != "global" else int(element)
    shape = tuple(int(n) for n in memory.shape)
    if int(np.prod(shape)) != memory.instance:
        return f"{memory.name} (element {number})"
    return f"{memory.name}[{', '.join(str(int(i)) for i in np.unravel_index(number, shape))}]"
