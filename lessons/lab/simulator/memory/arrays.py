"""Arrays as a kernel sees them, and the memory behind them."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from lessons.lab.simulator.memory.history import History

Shape: TypeAlias = tuple[int, ...]


class Memory:
    """The elements behind one array, and their history.

    space: "global", "shared", "local" or "constant". data: 1-D array that holds the elements of
    all instances (one per block for shared memory, one per thread for local). instance: elements
    of one instance. address: of element 0, in bytes, for counting sectors and banks.
    """

    def __init__(
        self,
        name: str,
        space: str,
        data: np.ndarray,
        instance: int,
        shape: Shape,
        address: int = 0,
    ) -> None:
        self.name = name
        self.space = space
        self.data = data
        self.instance = max(1, instance)
        self.shape = shape
        self.address = address
        self.history: History | None = None
        self.first_in_history = 0  # not 0 where arrays overlap and share a history
        self.initialised: np.ndarray | None = None
        if space in ("shared", "local"):
            self.initialised = np.zeros(data.size, bool)
        if space in ("shared", "global"):
            self.history = History(data.size, space == "global")


class ArrayView:
    """An array as a kernel sees it: a memory, where in it the array begins, shape and strides.

    offset: element number, an int or one per thread. strides: in elements.
    """

    def __init__(
        self, memory: Memory, offset: int | np.ndarray, shape: Shape, strides: Shape
    ) -> None:
        self.memory = memory
        self.offset = offset
        self.shape = shape
        self.strides = strides

    @property
    def dtype(self) -> np.dtype:
        return self.memory.data.dtype

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= int(length)
        return size


def row_major_strides(shape: Shape) -> Shape:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def constant_view(name: str, array: np.ndarray) -> ArrayView:
    """A view of a copy of an array from outside the kernel, which can only be read."""
    flat = np.ascontiguousarray(array).reshape(-1)
    memory = Memory(name, "constant", flat, flat.size, array.shape)
    return ArrayView(memory, 0, array.shape, row_major_strides(array.shape))


# ---------------------------------------------------------------- arrays a kernel is called with


def wrap_global_arrays(named_arrays: dict[str, np.ndarray]) -> dict[str, ArrayView]:
    """Views of the arrays a kernel is called with, by name.

    Arrays that overlap in memory share one history, so a race between two names for the same
    element is found as well.
    """
    views = {}
    group: list[tuple[str, np.ndarray]] = []
    group_end = 0
    for name, array in sorted(named_arrays.items(), key=lambda item: first_byte(item[1])):
        if group and first_byte(array) >= group_end:
            views.update(wrap_overlapping(group))
            group, group_end = [], 0
        group.append((name, array))
        group_end = max(group_end, end_byte(array))
    if group:
        views.update(wrap_overlapping(group))
    return views


def wrap_overlapping(group: Sequence[tuple[str, np.ndarray]]) -> dict[str, ArrayView]:
    """group: names and arrays, in the order of their first bytes, at least one."""
    arrays = [array for _, array in group]
    base = first_byte(arrays[0])
    shared_history = None
    if len(group) > 1:
        length = max(map(end_byte, arrays)) - base
        shared_history = History(length // min(array.itemsize for array in arrays), True)

    views = {}
    for name, array in group:
        # A flat window onto the array's own memory, so that stores arrive in it.
        flat = np.lib.stride_tricks.as_strided(array, (span(array),), (array.itemsize,))
        memory = Memory(name, "global", flat, flat.size, array.shape, address_on_gpu(array))
        if shared_history is not None:
            memory.history = shared_history
            memory.first_in_history = (first_byte(array) - base) // array.itemsize
        strides = tuple(stride // array.itemsize for stride in array.strides)
        views[name] = ArrayView(memory, 0, array.shape, strides)
    return views


def first_byte(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def end_byte(array: np.ndarray) -> int:
    return first_byte(array) + span(array) * array.itemsize


def span(array: np.ndarray) -> int:
    """Number of elements from the first to the last that an array reaches."""
    if array.size == 0:
        return 0
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    return sum(steps) // array.itemsize + 1


def address_on_gpu(array: np.ndarray) -> int:
    """Where an array would begin on a GPU, in bytes: at 0, unless it is a view.

    A GPU's allocations are aligned to 256 bytes, NumPy's to 16 or so; counting sectors from where
    NumPy happened to put an array would give other figures in every run.
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return max(0, first_byte(array) - first_byte(root))
