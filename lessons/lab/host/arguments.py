"""What a launch is given, as an engine takes it: NumPy arrays and numbers of the right type."""

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import typeof

from ..names import package_of
from ..numba_compiler import MASKED_ARRAYS, absent
from ..signatures import converted
from ..simulator.arguments import rebuild
from ..source import read_source
from .device_array import DeviceArray, garbage_like, plain
from .host_array import HostArray, plain_array

LAYOUTS = {"C": "", "F": ", columns first", "A": ", with gaps"}


class Prepared:
    """A launch's arguments as an engine takes them. Raises `TypeError` if they do not fit.

    name: of the kernel. values: what the engine gets. shared: arrays that the kernel reads and
    writes where they are. visible: whether the host can see some of these. returns_to_host: whether
    arrays of the host are copied back. results: (array of the host, its copy on the device).
    garbage: name of a parameter -> which elements of that array somebody has written.
    """

    def __init__(self, kernel: Callable, arguments: Sequence[Any]) -> None:
        self.shared: list[np.ndarray] = []
        self.results: list[tuple[np.ndarray, np.ndarray]] = []
        self.visible = self.returns_to_host = False
        source = read_source(kernel)
        self.name = source.function.__name__
        self.values, _ = converted(kernel, [self.value(argument) for argument in arguments])
        self.garbage: dict[str, np.ndarray] = {}
        for name, argument in zip(source.parameters, arguments, strict=False):
            written = argument._lab_written if isinstance(argument, DeviceArray) else None
            if written is None:
                continue
            if not is_alone(argument._lab_data, self.shared):
                argument._lab_assume_written()  # what is written by another name is not known here
            elif not written.all():
                self.garbage[name] = written

    def value(self, argument: Any) -> Any:
        if isinstance(argument, (DeviceArray, np.ndarray)):
            memory = plain_array(plain(argument))
            self.shared.append(memory)
            self.visible |= isinstance(argument, HostArray)
            self.returns_to_host |= not isinstance(argument, (DeviceArray, HostArray))
            return memory
        if isinstance(argument, tuple):
            return rebuild(argument, [self.value(item) for item in argument])
        hint = type(argument).__name__
        if hint in ("In", "Out", "InOut") and hasattr(argument, "value"):
            return self.hinted(hint, argument.value)
        return argument

    def hinted(self, hint: str, argument: Any) -> Any:
        """`cuda.In(array)` is not copied back, `cuda.Out(array)` not to the device."""
        if hint == "InOut" or not isinstance(argument, np.ndarray):
            return self.value(argument)
        array = plain_array(argument)
        if hint == "In":
            return array.copy()
        result = garbage_like(array)
        self.results.append((array, result))
        self.returns_to_host = True
        return result

    def assume_written(self) -> None:
        for written in self.garbage.values():
            written[...] = True

    def copy_back(self) -> None:
        for target, result in self.results:
            np.copyto(target, result)


def memory_of(arguments: Iterable[Any]) -> Iterator[np.ndarray]:
    """The arrays that a kernel is given, also within tuples and in cuda.In(...)."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from memory_of(argument)
        array = plain_array(plain(getattr(argument, "value", argument)))
        if isinstance(array, np.ndarray):
            yield array


def extended(
    kernel: Any, arguments: Sequence[Any], stream: Any
) -> tuple[Sequence[Any], list[Callable]]:
    """The arguments after `prepare_args` of the extensions, and what to call at the end."""
    extensions = list(getattr(kernel, "extensions", None) or ())
    when_done: list[Callable] = []
    values = list(arguments)
    for place, value in enumerate(values if extensions else ()):
        kind = typed(kernel, value)
        for extension in reversed(extensions):
            kind, value = extension.prepare_args(kind, value, stream=stream, retr=when_done)
        values[place] = value
    return values, when_done


def typed(kernel: Any, value: Any) -> Any:
    """The type of an argument; each package has a list of its own of what has which type."""
    memory = plain_array(plain(value))
    try:
        types = importlib.import_module(f"{package_of(kernel)}.typing.typeof")
    except ImportError:
        return typeof(memory)
    with absent(np, MASKED_ARRAYS):
        return types.typeof(memory, types.Purpose.argument)


def types_of(values: Iterable[Any]) -> str:
    """The types of a launch's arguments in words: for others, Numba compiles a kernel anew."""
    return "; ".join(type_of(value) for value in values)


def places_of(values: Iterable[Any]) -> tuple[int, ...]:
    """Where the arrays among a launch's arguments begin; 0 for what is none."""
    return tuple(
        value.__array_interface__["data"][0] if isinstance(value, np.ndarray) else 0
        for value in values
    )


def type_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return array_in_words(value.dtype, value.ndim, layout_of(value))
    if isinstance(value, tuple):
        return f"({', '.join(type_of(item) for item in value)})"
    try:
        return str(typeof(value))
    except ValueError:  # Numba knows no such type: the launch will say so
        return type(value).__name__


@functools.lru_cache(maxsize=256)
def array_in_words(dtype: np.dtype, ndim: int, layout: str) -> str:
    dimensions = f"{ndim} dimension{'s' if ndim > 1 else ''}"
    return f"an array of {dtype} with {dimensions}{LAYOUTS[layout]}"


def layout_of(array: np.ndarray) -> str:
    """The letter that Numba has for it."""
    if 0 in array.strides:
        return "A"
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def is_alone(memory: np.ndarray, arrays: Sequence[np.ndarray]) -> bool:
    """Whether only one of a launch's arrays lies in this memory."""
    return sum(np.may_share_memory(memory, array) for array in arrays) == 1
