"""Arrays of the host that the GPU may be using: whoever reads one too early is told so.

Memory that is pinned, mapped or managed, and what an asynchronous copy returns, is a `HostArray`: a
NumPy array in every respect, whose elements are not looked at before the order of things is.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .fixed import Fixed

# Functions of NumPy that ask for an array's shape and type, and not for its elements.
HARMLESS = {
    np.shape, np.ndim, np.size, np.empty_like, np.zeros_like, np.ones_like, np.full_like,
    np.shares_memory, np.may_share_memory, np.result_type, np.can_cast, np.broadcast_to,
    np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.split, np.array_split,
}  # fmt: skip
READING = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip",
    "compress", "copy", "cumprod", "cumsum", "diagonal", "dot", "dump", "dumps", "item", "max",
    "mean", "min", "nonzero", "prod", "ptp", "repeat", "round", "searchsorted", "std", "sum",
    "take", "tobytes", "tofile", "tolist", "trace", "var",
    "__bool__", "__complex__", "__contains__", "__copy__", "__deepcopy__", "__float__",
    "__format__", "__index__", "__int__", "__iter__", "__reduce__", "__reduce_ex__", "__repr__",
    "__str__",
)  # fmt: skip
WRITING = ("fill", "itemset", "partition", "put", "sort", "byteswap")


class Watcher(Protocol):
    """Whom arrays ask: a `session.Session`."""

    def touch(self, memory: np.ndarray, writes: bool, item: Any = ...) -> None: ...
    def is_watching(self) -> bool: ...


class HostArray(np.ndarray, metaclass=Fixed):
    """A NumPy array that the session is asked about before its elements are touched."""

    _lab_session: Watcher | None = None

    def __array_finalize__(self, origin: object) -> None:
        self._lab_session = getattr(origin, "_lab_session", None)

    def _lab_touch(self, writes: bool, item: Any = ...) -> None:
        if self._lab_session is not None:
            self._lab_session.touch(plain_array(self), writes, item)

    def __getitem__(self, item: Any) -> Any:
        part = super().__getitem__(item)
        if isinstance(part, np.ndarray) and np.may_share_memory(part, self):
            return part  # a view: nobody has looked at its elements yet
        self._lab_touch(writes=False, item=item)
        return plain_array(part)

    def __setitem__(self, item: Any, value: Any) -> None:
        self._lab_touch(writes=True)
        plain_array(self)[item] = read(value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", ())
        for array in out:
            if isinstance(array, HostArray):
                array._lab_touch(writes=True)
        if out:
            options["out"] = tuple(map(plain_array, out))
        if "where" in options:
            options["where"] = read(options["where"])
        result = getattr(ufunc, method)(*map(read, inputs), **options)
        return out[0] if len(out) == 1 and result is options["out"][0] else result

    def __array_function__(
        self, function: Callable, types: Any, arguments: Any, options: Any
    ) -> Any:
        if function in HARMLESS:
            return super().__array_function__(function, types, arguments, options)
        if function is np.copyto and isinstance(arguments[0], HostArray):
            arguments[0]._lab_touch(writes=True)
        if function is np.where:  # which may choose none of the elements that are garbage
            for array in arguments:
                if isinstance(array, HostArray):
                    array._lab_touch(writes=False, item=np.s_[:0] if array.ndim else ...)
            return function(*map(plain_array, arguments), **options)
        return function(*read_all(arguments), **read_all(options))


def asking(name: str, writes: bool) -> Callable:
    """A method of NumPy's that touches the elements."""
    inherited = getattr(np.ndarray, name)

    def method(self: HostArray, *arguments: Any, **options: Any) -> Any:
        self._lab_touch(writes)
        return inherited(plain_array(self), *map(plain_array, arguments), **options)

    method.__name__ = name
    return method


for name in (*READING, *WRITING):
    if hasattr(np.ndarray, name):  # some are gone in NumPy 2
        type.__setattr__(HostArray, name, asking(name, name in WRITING))


def watched(session: Watcher, array: np.ndarray) -> HostArray:
    """A `HostArray` on the memory of an array."""
    view = array.view(HostArray)
    view._lab_session = session
    return view


def plain_array(value: Any) -> Any:
    """A `HostArray` as an ordinary array, without asking; anything else as it is."""
    return value.view(np.ndarray) if isinstance(value, HostArray) else value


def read(value: Any) -> Any:
    """As `plain_array`, for somebody who looks at the elements."""
    if isinstance(value, HostArray):
        value._lab_touch(writes=False)
    return plain_array(value)


def read_all(values: Any) -> Any:
    """As `read`, also within lists, tuples and dicts."""
    if isinstance(values, dict):
        return {name: read_all(value) for name, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(read_all(value) for value in values)
    return read(values)
