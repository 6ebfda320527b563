"""Arrays on the GPU that is not there: they lie in the host's memory, and say so to nobody."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from ..errors import InputError
from .fixed import Fixed
from .places import Current, HostPlace, host_place

GARBAGE = 0xA5  # the bytes of memory that nobody has written


class Copies(Protocol):
    """What a `session.Session` does for its arrays. rooms: those that somebody still has."""

    rooms: "WeakSet[Room]"
    current: Current

    def copy_to_host(self, data: np.ndarray, target: Any, stream: Any) -> np.ndarray: ...
    def copy_to_device(self, data: np.ndarray, source: Any, stream: Any) -> None: ...
    def write_element(self, data: np.ndarray, item: Any, value: Any, stream: Any) -> None: ...
    def watch_unwritten(self, array: Any, missing: np.ndarray, told_now: bool) -> np.ndarray: ...
    def free(self, memory: np.ndarray, made: HostPlace) -> None: ...


class Room:
    """Memory of the device, which an array and its views share: with the last of them it goes.

    written: that of the array it was made for.
    """

    def __init__(
        self, session: Copies, memory: np.ndarray, written: np.ndarray | None = None
    ) -> None:
        self.session = session
        self.memory = memory
        self.written = written
        self.made = host_place()
        if session is not None:
            self.device = session.current.stack[-1]
            session.rooms.add(self)

    def __del__(self) -> None:
        if self.session is not None:  # a program could make an array of its own, without one
            self.session.free(self.memory, self.made)


class DeviceArray(metaclass=Fixed):
    """What `cuda.to_device` and `cuda.device_array` return.

    data: its elements. stream: of copies that name none. written: bool of the same shape, which
    elements somebody has written; None if all of them. room: of the array that this one is a view
    of. What begins with `_lab_` is the lab's own: a program that is checked may not name it.
    """

    __cuda_ndarray__ = True
    __cuda_memory__ = True
    __array_priority__ = 1000

    def __init__(
        self,
        session: Copies,
        data: np.ndarray,
        stream: Any = 0,
        written: np.ndarray | None = None,
        room: Room | None = None,
    ) -> None:
        self._lab_session = session
        self._lab_data = data
        self._lab_stream = stream
        self._lab_written = written
        self._lab_room = room or Room(session, data, written)

    # ---------------------------------------------------------------- what it looks like

    shape = property(lambda self: self._lab_data.shape)
    strides = property(lambda self: self._lab_data.strides)
    dtype = property(lambda self: self._lab_data.dtype)
    stream = property(lambda self: self._lab_stream)
    ndim = property(lambda self: self._lab_data.ndim)
    size = property(lambda self: self._lab_data.size)
    nbytes = property(lambda self: self._lab_data.nbytes)
    alloc_size = property(lambda self: self._lab_data.nbytes)
    flags = property(lambda self: self._lab_data.flags)

    def __len__(self) -> int:
        return len(self._lab_data)

    def __repr__(self) -> str:
        return f"<array on the device: {self.dtype}, shape {self.shape}>"

    def is_c_contiguous(self) -> bool:
        return self._lab_data.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self._lab_data.flags.f_contiguous

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self._lab_data.__array_interface__, "version": 3, "stream": None}

    @property
    def _lab_memory(self) -> np.ndarray:
        """For kernels that know the array by a name from outside."""
        return self._lab_data

    # ---------------------------------------------------------------- views

    def _lab_view_by(self, change: Callable[[np.ndarray], np.ndarray]) -> "DeviceArray":
        written = None if self._lab_written is None else change(self._lab_written)
        return self._lab_part(change(self._lab_data), written)

    def _lab_part(self, data: np.ndarray, written: np.ndarray | None = None) -> "DeviceArray":
        return DeviceArray(self._lab_session, data, self._lab_stream, written, self._lab_room)

    @property
    def T(self) -> "DeviceArray":
        return self.transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> "DeviceArray":
        """A copy, of arrays with two axes, as in Numba."""
        if axes is not None and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        return self._lab_view_by(lambda array: array.T.copy())

    def reshape(self, *shape: Any, order: Any = "C") -> "DeviceArray":
        return self._lab_view_by(lambda array: array.reshape(*shape, order=order))

    def ravel(self, order: Any = "C", stream: Any = 0) -> "DeviceArray":
        return self._lab_view_by(lambda array: array.ravel(order))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> "DeviceArray":
        return self._lab_view_by(lambda array: array.squeeze(axis))

    def view(self, dtype: Any) -> "DeviceArray":
        self._lab_assume_written()  # elements of another size cannot be told apart
        return self._lab_part(self._lab_data.view(dtype))

    def bind(self, stream: Any = 0) -> "DeviceArray":
        written, room = self._lab_written, self._lab_room
        return DeviceArray(self._lab_session, self._lab_data, stream, written, room)

    def split(self, section: int, stream: Any = 0) -> list["DeviceArray"]:
        starts = range(0, len(self._lab_data), section)
        return [self[start : start + section] for start in starts]

    def _lab_assume_written(self, item: Any = ...) -> None:
        if self._lab_written is not None:
            self._lab_written[item] = True

    # ---------------------------------------------------------------- copies

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """Copy to `ary`, or to a new array; on a stream the host does not wait for it."""
        result = self._lab_session.copy_to_host(self._lab_data, ary, stream)
        written = self._lab_written
        ordinary = ary is not None and type(ary) is np.ndarray  # which does not tell who reads it
        if written is None or written.all() or (ordinary and written.any()):
            return result
        return self._lab_session.watch_unwritten(result, ~written, told_now=ordinary)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy from a NumPy array or from another one on the device."""
        self._lab_assume_written()
        self._lab_session.copy_to_device(self._lab_data, ary, stream)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.copy_to_host(), dtype)

    def __getitem__(self, item: Any) -> Any:
        return self.getitem(item)

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """A part of it, on the device; a single element is copied to the host."""
        part = self._lab_data[item]
        if isinstance(item, str):  # a field of its records
            self._lab_assume_written()
            return self._lab_part(part)
        if isinstance(part, np.ndarray) and np.may_share_memory(part, self._lab_data):
            return self._lab_view_by(lambda array: array[item])
        return self._lab_session.copy_to_host(np.asarray(part), None, 0)[()]

    def __setitem__(self, item: Any, value: Any) -> None:
        self.setitem(item, value)

    def setitem(self, item: Any, value: Any, stream: Any = 0) -> None:
        self._lab_assume_written(... if isinstance(item, str) else item)
        self._lab_session.write_element(self._lab_data, item, plain(value), stream)


def adopted(session: Copies, description: Any) -> DeviceArray:
    """The array of the lab that a `__cuda_array_interface__` tells of.

    Raises `InputError` if it tells of other memory: there is no GPU that could have it.
    """
    if description.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    shape = tuple(map(int, description["shape"]))
    descr = description.get("descr") or [("", "")]
    dtype = np.dtype(str(description["typestr"]) if descr[0][0] == "" else list(descr))
    steps = description.get("strides")
    steps = None if steps is None else tuple(map(int, steps))
    address = int(description["data"][0] or 0)  # None: a library that found no GPU
    first, end = extent(shape, dtype, steps)
    for room in list(session.rooms):
        flat = room.memory.ravel(order="K")
        offset = address - flat.__array_interface__["data"][0]
        if offset + first < 0 or offset + end > flat.nbytes or dtype.hasobject:
            continue
        if not np.may_share_memory(flat, room.memory):
            continue
        data = np.ndarray(shape, dtype, flat.view(np.uint8), offset, steps)
        if room.written is not None:
            room.written[...] = True  # what is written by another name is not known here
        return DeviceArray(session, data, room=room)
    raise InputError(
        f"the memory at {address:#x} belongs to no array of the lab, and there is no GPU that "
        "could have it: make the array with cuda.to_device or cuda.device_array"
    )


def extent(
    shape: tuple[int, ...], dtype: np.dtype, steps: tuple[int, ...] | None
) -> tuple[int, int]:
    """Where an array's bytes begin and end, counted from its first element.

    NumPy does not check steps that are negative.
    """
    if min(shape, default=1) < 0 or (steps is not None and len(steps) != len(shape)):
        raise InputError(f"shape {shape} and strides {steps} do not describe an array")
    if 0 in shape:
        return 0, 0
    if steps is None:
        return 0, math.prod(shape) * dtype.itemsize
    ways = [(length - 1) * step for length, step in zip(shape, steps, strict=True)]
    return sum(way for way in ways if way < 0), sum(way for way in ways if way > 0) + dtype.itemsize


def plain(value: Any) -> Any:
    """The NumPy array behind one on the device; anything else as it is."""
    return value._lab_data if isinstance(value, DeviceArray) else value


def garbage(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C"
) -> np.ndarray:
    """An array that nobody has written: no zeros, so that a kernel is not right by luck."""
    array = np.ndarray(shape, dtype, strides=strides, order=order)
    lowest = array.view(np.uint8) if array.flags.c_contiguous and array.ndim else None
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    elif lowest is not None:
        lowest.fill(GARBAGE)
    return array


def garbage_like(array: Any) -> np.ndarray:
    """As `garbage`, in the shape, type and order of an array."""
    made = np.empty_like(plain(array), subok=False)
    made[...] = garbage(made.shape, made.dtype)
    return made
