"""Arrays as a kernel sees them, the bytes they cover, and which elements have been written."""

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .history import NEVER, History

Key = TypeVar("Key")


def overlapping(arrays: Iterable[tuple[Key, np.ndarray]]) -> Iterator[list[tuple[Key, np.ndarray]]]:
    """Groups of arrays that overlap in memory, each in the order of their first bytes."""
    group: list[tuple[Key, np.ndarray]] = []
    group_end = 0
    begins = [(first_byte(array), key, array) for key, array in arrays]
    for first, key, array in sorted(begins, key=itemgetter(0)):
        if group and first >= group_end:
            yield group
            group, group_end = [], 0
        group.append((key, array))
        group_end = max(group_end, first + bytes_reached(array))
    if group:
        yield group


def first_byte(array: np.ndarray) -> int:
    if array.flags.c_contiguous:
        return int(array.__array_interface__["data"][0])
    steps = zip(array.shape, array.strides, strict=True)
    backward = sum((n - 1) * step for n, step in steps if step < 0 and n > 0)
    return array.__array_interface__["data"][0] + backward


def end_byte(array: np.ndarray) -> int:
    return first_byte(array) + bytes_reached(array)


def bytes_reached(array: np.ndarray) -> int:
    if array.flags.c_contiguous:
        return array.nbytes
    return (span(array) - 1) * pitch_of(array) + array.itemsize


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
    if array.base is None:
        return 0
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return max(0, first_byte(array) - first_byte(root))


# ---------------------------------------------------------------- memory, and views of it


Shape: TypeAlias = tuple[int, ...]


class Memory:
    """The elements behind one array, and their history.

    space: "global", "shared", "local" or "constant". data: 1-D array that holds the elements of
    all instances (one per block for shared memory, one per thread for local). instance: elements
    of one instance. address: of element 0, in bytes, for counting sectors and banks.
    """

    def __init__(
        self, name: str, space: str, data: np.ndarray, instance: int, shape: Shape, address: int = 0
    ) -> None:
        self.name = name
        self.space = space
        self.data = data
        self.instance = max(1, instance)
        self.shape = shape
        self.address = address
        self.history: History | None = None
        self.first_byte_in_history = 0  # not 0 where arrays overlap and share a history
        self.dynamic: DynamicShared | None = None  # what it is a part of
        self.dynamic_number = 0  # its number there, from 1
        # Bytes from one element to the next; of a field, less than a record.
        self.pitch = data.strides[0] if data.size else data.itemsize
        # Elements from one index to the next along each axis; None: row by row, without gaps.
        self.strides: Shape | None = None
        self.is_records = data.dtype.fields is not None
        self.parts: dict[str, Part] = {}
        self.whole: Memory | None = None  # of what this is a field
        self.owner: Memory | None = None  # whose bytes these are, if not its own
        self.may_change = space in ("shared", "global")  # whether other threads may write to it
        self.initialised: np.ndarray | None = None
        self.all_initialised = False
        self.looks, self.reads_until_look = 0, 1  # at whether all are
        if space in ("shared", "local"):
            self.initialised = np.zeros(data.size, bool)
        if space in ("shared", "global"):
            self.history = History(data.size, space == "global")

    def mark_owner(self, element: np.ndarray) -> None:
        """Its elements have been written: so have those of the array whose bytes they are."""
        owner = self.owner
        if owner is None or owner.initialised is None:
            return
        first = element * self.pitch // owner.pitch
        for number in range(max(1, self.data.itemsize // owner.pitch)):
            owner.initialised[first + number] = True

    def cells(self, element: np.ndarray) -> np.ndarray:
        """(n, cells per element) int: where elements are in the history."""
        size = self.history.cell_bytes if self.history is not None else 0
        if not size:
            return element[:, None]
        first = (element * self.pitch + self.first_byte_in_history) // size
        cells: np.ndarray = first[:, None] + np.arange(max(1, self.data.itemsize // size))
        return cells

    def part(self, name: str) -> "Part":
        """A field of an array of records, or "real" or "imag" of complex numbers."""
        if name not in self.parts:
            self.parts[name] = part_of(self, name)
        return self.parts[name]

    def share_history(self, other: "Memory") -> None:
        """The elements of both are the same bytes, so what happens to one happens to the other."""
        self.history = other.history
        if self.history is not None and not self.history.cell_bytes:
            self.history.cell_bytes = other.pitch
        self.first_byte_in_history = other.first_byte_in_history
        self.dynamic, self.dynamic_number = other.dynamic, other.dynamic_number
        self.owner = other.owner or other
        self.initialised = None

    def viewed_as(self, dtype: np.dtype) -> "Part":
        """The same bytes as elements of another type."""
        key = f"view {dtype}"
        if key not in self.parts:
            pitch = math.gcd(self.pitch, dtype.itemsize)
            count = max(0, (self.data.nbytes - dtype.itemsize) // pitch + 1)
            raw = self.data.view(np.uint8)
            data: np.ndarray = np.ndarray((count,), dtype, raw, strides=(pitch,))
            scale = self.pitch // pitch
            shape = (self.instance * scale,)
            memory = Memory(self.name, self.space, data, *shape, shape, self.address)
            memory.pitch = pitch
            memory.share_history(self)
            self.parts[key] = Part(memory, scale, (), ())
        return self.parts[key]


class DynamicShared:
    """Dynamic shared memory: all arrays of size 0 begin at its first byte.

    size: bytes per block, a multiple of 16.
    """

    def __init__(self, size: int, blocks: int) -> None:
        self.size = size
        self.bytes = np.zeros(size * blocks, np.uint8)
        self.history = History(size * blocks, False, cell_bytes=1)
        self.writer = np.zeros(size * blocks, np.int16)  # number of an array, from 1; 0: nobody
        self.memories: list[Memory] = []
        self.makers: list[object] = []  # the function that each of them is made in

    def array(self, name: str, dtype: np.dtype, length: int, maker: object) -> Memory:
        """An array of so many elements per block, at the first byte of all others."""
        memory = Memory(name, "shared", self.bytes.view(dtype), length, (length,))
        memory.instance = self.size // dtype.itemsize
        memory.history, memory.initialised = self.history, None
        memory.dynamic = self
        self.memories.append(memory)
        memory.dynamic_number = len(self.memories)
        self.makers.append(maker)
        return memory

    def same_function(self, one: int, other: int) -> bool:
        """Whether two of the arrays, by number, are made in one function."""
        return self.makers[one - 1] is self.makers[other - 1]


class Part(NamedTuple):
    """A field of all records of a memory, as a memory of its own."""

    memory: Memory
    scale: int  # elements of this memory from one record to the next
    shape: Shape  # of the field in one record: () but for a field that is an array
    strides: Shape


def part_of(whole: Memory, name: str) -> Part:
    field = whole.data[name] if whole.data.dtype.fields else getattr(whole.data, name)
    dtype, inner = field.dtype, field.shape[1:]
    # Elements of the new memory may overlap, so that any field of any record is one of them.
    pitch = math.gcd(whole.pitch, dtype.itemsize, *field.strides[1:])
    last = sum((n - 1) * step for n, step in zip(field.shape, field.strides, strict=True))
    count = last // pitch + 1 if field.size else 0
    data = np.lib.stride_tricks.as_strided(field, (count,), (pitch,))
    scale = whole.pitch // pitch
    address = whole.address
    if whole.data.dtype.fields:
        address += whole.data.dtype.fields[name][1]
    elif name == "imag":
        address += dtype.itemsize
    memory = Memory(name, whole.space, data, whole.instance * scale, inner, address)
    memory.pitch, memory.whole = pitch, whole
    if whole.data.dtype.kind == "c":
        memory.share_history(whole)
    return Part(memory, scale, inner, tuple(step // pitch for step in field.strides[1:]))


class ArrayView:
    """An array as a kernel sees it: a memory, where in it the array begins, shape and strides.

    offset: element number, an int or one per thread. strides: in elements. A length or stride may
    be one number per thread. One record of an array is a view without dimensions.
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
    def size(self) -> Any:
        size: Any = 1
        for length in self.shape:
            size = size * length
        return size

    @property
    def is_record(self) -> bool:
        return not self.shape and self.dtype.fields is not None

    def part(self, name: str) -> "ArrayView":
        """The array of one field of these records, or of the real or imaginary parts."""
        part = self.memory.part(name)
        strides = tuple(stride * part.scale for stride in self.strides)
        shape = (*self.shape, *part.shape)
        return ArrayView(part.memory, self.offset * part.scale, shape, (*strides, *part.strides))

    def reshaped(self, shape: Shape) -> "ArrayView":
        """The same elements, row by row, in another shape. Raises `ValueError`."""
        sizes = [int(length) for length in shape]
        if sizes.count(-1) == 1:
            known = -math.prod(sizes)
            sizes[sizes.index(-1)] = self.size // known if known else 0
        if math.prod(sizes) != self.size:
            raise ValueError(f"{self.size} elements do not fit the shape {tuple(map(int, shape))}")
        if not self.is_contiguous:
            raise ValueError("only an array whose elements lie side by side can be reshaped")
        return ArrayView(self.memory, self.offset, tuple(sizes), row_major_strides(tuple(sizes)))

    def viewed_as(self, dtype: np.dtype) -> "ArrayView":
        """The same bytes as elements of another type. Raises `ValueError`."""
        part = self.memory.viewed_as(dtype)
        strides = tuple(stride * part.scale for stride in self.strides)
        if dtype.itemsize == self.dtype.itemsize or not self.shape:
            return ArrayView(part.memory, self.offset * part.scale, self.shape, strides)
        if int(self.strides[-1]) * self.memory.pitch != self.dtype.itemsize:
            raise ValueError("the elements must lie side by side")
        size = self.shape[-1] * self.dtype.itemsize
        if np.any(size % dtype.itemsize):
            raise ValueError(f"its rows are no whole number of {dtype}")
        shape = (*self.shape[:-1], size // dtype.itemsize)
        strides = (*strides[:-1], dtype.itemsize // part.memory.pitch)
        return ArrayView(part.memory, self.offset * part.scale, shape, strides)

    @property
    def is_contiguous(self) -> bool:
        expected = row_major_strides(self.shape)
        return all(
            int(length) <= 1 or int(stride) == step
            for length, stride, step in zip(self.shape, self.strides, expected, strict=True)
        )


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
    for group in overlapping(named_arrays.items()):
        views.update(wrap_overlapping(group))
    return views


def wrap_overlapping(group: Sequence[tuple[str, np.ndarray]]) -> dict[str, ArrayView]:
    """group: names and arrays, in the order of their first bytes, at least one."""
    arrays = [array for _, array in group]
    shared_history = None
    if len(group) > 1:
        base = first_byte(arrays[0])
        length = max(map(end_byte, arrays)) - base
        offsets = [first_byte(array) - base for array in arrays]
        cell = math.gcd(*offsets, *map(pitch_of, arrays), *(array.itemsize for array in arrays))
        shared_history = History(-(-length // cell), True, cell)

    views = {}
    for name, array in group:
        pitch = array.itemsize if array.flags.c_contiguous else pitch_of(array)
        if array.flags.c_contiguous:
            flat = np.asarray(array).reshape(-1)
        else:  # one axis over the array's own memory, so that stores arrive in it
            backward = tuple(axis for axis, step in enumerate(array.strides) if step < 0)
            lowest = np.asarray(np.flip(array, backward) if backward else array)
            flat = np.lib.stride_tricks.as_strided(lowest, (span(array),), (pitch,))
        memory = Memory(name, "global", flat, flat.size, array.shape, address_on_gpu(array))
        memory.pitch = pitch
        if shared_history is not None:
            memory.history = shared_history
            memory.first_byte_in_history = first_byte(array) - base
        strides = rows = row_major_strides(array.shape)
        if not array.flags.c_contiguous:
            strides = tuple(stride // pitch for stride in array.strides)
        if strides != rows:
            memory.strides = strides
        steps = zip(array.shape, strides, strict=True)
        offset = sum((n - 1) * -step for n, step in steps if step < 0 and n > 0)
        views[name] = ArrayView(memory, offset, array.shape, strides)
    return views


# ---------------------------------------------------------------- which elements have been written


def mark_written(view: ArrayView, written: np.ndarray) -> None:
    """From now on, reading an element that is not `written` and that nobody has written since is
    a finding. written: bool, with the array's shape."""
    flags = np.zeros(view.memory.data.size, bool)
    in_shape(view, flags)[...] = written
    view.memory.initialised = flags


def written_now(view: ArrayView) -> np.ndarray:
    """Bool, with the array's shape: which elements the kernel has written, atomics included."""
    memory = view.memory
    return in_shape(view, written_elements(memory))


def written_elements(memory: Memory) -> np.ndarray:
    """(size,) bool: of the elements of a memory of the whole grid."""
    history = memory.history
    assert history is not None
    written = history.write_tick != NEVER
    if history.changers is not None:
        written |= history.changers.tick[0] != NEVER
    cells = memory.cells(np.arange(memory.data.size))
    elements: np.ndarray = written[cells].any(axis=1)
    return elements


def in_shape(view: ArrayView, flags: np.ndarray) -> np.ndarray:
    """Flags of the elements of a memory, as a view with the shape of an array in it."""
    strides = tuple(int(stride) * flags.itemsize for stride in view.strides)
    shape = tuple(int(length) for length in view.shape)
    return np.lib.stride_tricks.as_strided(flags[int(np.max(view.offset)) :], shape, strides)
