"""What a checked run records for the picture of its memory accesses."""

from typing import NamedTuple

import numpy as np


class AccessEvent(NamedTuple):
    """One instruction that touches an array, executed by n threads in step."""

    phase: int  # 0, 1, 2, ...: how many barriers came before
    order: int  # running number of the instruction: the time order
    line: int  # number of the source line
    source: str  # text of that line, stripped
    array: str  # the name the kernel gives the array
    space: str  # "global", "shared" or "local"
    kind: str  # "read", "write" or "atomic"
    shape: tuple[int, ...]  # of the array; for one block if shared, for one thread if local
    block: np.ndarray  # (n,) int: linear index of the block
    thread: np.ndarray  # (n,) int: linear index of the thread within its block
    element: np.ndarray  # (n,) int: row-major index of the element within the array
