"""Whether a launch function does what it is for: it starts kernels of the student's own file.

This is the worker's end. A launch function may be changed, as a kernel with another grid needs it.
But what it gives to a kernel has to come from the check, and what the check gets from it has to
come from a kernel: not from NumPy, and not from the solution. So its arrays hold nothing that is
worth reading: as on a GPU, the numbers are elsewhere. A launch puts the check's own arrays in the
place of those that a launch function was shown, and exact numbers in the place of what it gives:
then nothing of the file can meet the arrays but through a kernel.
"""

import collections
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, cast

import numpy as np
from numba import cuda
from numba.core.registry import CPUDispatcher
from numba.cuda.cudadrv.error import CudaSupportError

import kernels.launch
from lessons.course.lesson import ROOT
from lessons.grading.worker.protocol import CLASSES, known_class

KERNELS = str(ROOT / "kernels")
KERNEL = type(cuda.jit(lambda: None))
MOST_NUMBERS = 32  # that a launch function passes to a kernel, besides arrays
IN_PLACE: list[object] = []  # of the file's own functions: ours, as the judge has asked for it
HIDDEN = 0xFF  # each byte of an array that a launch function is shown: NaN, or -1
# Classes whose values have no method of a student's, and how others are read past theirs.
EXACT = {int, float, bool, complex, str, type(None), np.ndarray, *np.sctypeDict.values()}
READ_EXACTLY: dict[type, Callable[[Any], object]] = {
    int: int.__int__, float: float.__float__, complex: complex.__pos__, str: str.__str__,
    np.generic: np.generic.item,
}  # fmt: skip
TUPLES_OF_OURS = {known_class(name) for name in CLASSES}


class NoKernel(Exception):
    """A launch function did something else than to start the student's kernel."""


class NoBlocks(Exception):
    """A launch without any block."""


class OwnKernels:
    """Looks at every launch of one run.

    arrays: what the check has sent. path: of the student's file. function: the launch function,
    which gets `shown`: arrays that are like them, with nothing in them.
    """

    how_to_start = "it should call launch(kernel, blocks, threads, ...) with a kernel of your file"

    def __init__(self, arrays: Sequence[np.ndarray], path: str, function: str) -> None:
        self.arrays = arrays
        self.path = path
        self.function = function
        self.launched = False
        self.shown = [hidden_like(array) for array in arrays]

    def before_launch(
        self, kernel: object, blocks: object, threads: object, arguments: Sequence[object]
    ) -> tuple[Any, Any, list[object]]:
        """(blocks, threads, arguments) as the kernel gets them: exact numbers, the check's arrays.

        Raises `NoKernel`, as does `at_the_end`; and `NoBlocks`.
        """
        self.require_kernel(kernel)
        blocks, threads, *values = (exact(value) for value in (blocks, threads, *arguments))
        if any(type(number) is int and number == 0 for number in flat((blocks,))):
            raise NoBlocks(
                f"{self.function} starts {blocks} blocks: their number is rounded up, as "
                "blocks_for does, so that the last elements get threads, too"
            )
        self.require_same("before it started the kernel")
        numbers = [value for value in flat(values) if not isinstance(value, np.ndarray)]
        if len(numbers) > MOST_NUMBERS:
            raise NoKernel(f"{self.function} gives the kernel more than {MOST_NUMBERS} numbers")
        if any(isinstance(number, (float, np.floating)) and number != number for number in numbers):
            raise NoKernel(
                f"{self.function} gives the kernel a number that it has computed of an array's "
                "elements, and here they are NaN: on a GPU they are on the device. Give the kernel "
                "the array"
            )
        given = [self.of_the_check(value) for value in values]
        self.launched = True
        return blocks, threads, given

    def require_kernel(self, kernel: object) -> None:
        """Raises `NoKernel` for what this function may not start."""
        require_kernel(kernel, self.path)

    def at_the_end(self) -> None:
        if not self.launched:
            raise NoKernel(f"{self.function} started no kernel: {self.how_to_start}")
        self.require_same("after the last kernel")

    def require_same(self, when: str) -> None:
        for array in self.shown:
            if (bytes_of(array) != HIDDEN).any():
                raise NoKernel(
                    f"{self.function} itself has changed an array, {when}: a launch function only "
                    "starts kernels, and these compute"
                )

    def of_the_check(self, value: object) -> object:
        """The check's array, or part of one, for what the launch function was shown in its place.

        Numbers stay as they are, and so do the fields of tuples.
        """
        if isinstance(value, tuple):
            return like_tuple(value, [self.of_the_check(item) for item in value])
        if not isinstance(value, np.ndarray):
            return value
        if value.size == 0 and not value.dtype.hasobject:
            return np.empty(value.shape, value.dtype)
        for array, shown in zip(self.arrays, self.shown, strict=True):
            if np.may_share_memory(value, shown):
                return same_part(value, shown, array)
        raise NoKernel(
            f"{self.function} gives the kernel an array of its own, of shape {value.shape}: pass "
            "the arrays that it was called with"
        )


def hidden_like(array: np.ndarray) -> np.ndarray:
    """An array of this shape, type and layout, of which each byte is `HIDDEN`."""
    filled = np.full(max(1, array.nbytes), HIDDEN, np.uint8)
    return np.ndarray(array.shape, array.dtype, filled, strides=array.strides)


def same_part(part: np.ndarray, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What `part` is of `whole`, of another array with the same layout."""
    offset = address_of(part) - address_of(whole)
    result: np.ndarray = np.ndarray(
        part.shape, part.dtype, bytes_of(other), offset=offset, strides=part.strides
    )
    result.flags.writeable = part.flags.writeable and other.flags.writeable
    return result


def address_of(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The memory of an array, as uint8."""
    return array.reshape(-1, order="A").view(np.uint8)


# ---------------------------------------------------------------- nothing of a student's runs


def exact(value: object) -> Any:
    """A value with the same number and no class of the student's, none of whose methods is asked.

    Of tuples and lists, too. Raises `NoKernel` for an array with a class of its own.
    """
    kind = type(value)
    if kind in EXACT:
        return value
    if issubclass(kind, (tuple, list)):
        items = [exact(item) for item in items_of(cast(Any, value))]
        return like_tuple(cast(Any, value), items) if issubclass(kind, tuple) else items
    if issubclass(kind, np.ndarray):
        raise NoKernel(f"a kernel gets plain arrays, and not a {kind.__name__}")
    for base, read in READ_EXACTLY.items():
        if issubclass(kind, base):
            return read(value)
    return value


def items_of(value: tuple[object, ...] | list[object]) -> Iterator[object]:
    """What stands in a tuple or a list, whatever its class says of itself."""
    return tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value)


def like_tuple(value: tuple[object, ...], items: list[Any]) -> object:
    """A tuple of these items: a plain one, one of ours, or a named one with the same fields."""
    kind = type(value)
    if kind in TUPLES_OF_OURS:
        return kind(*items)
    fields = getattr(kind, "_fields", None)
    if type(fields) is tuple and len(fields) == len(items):
        if all(type(field) is str for field in fields):
            return named_tuple(kind.__name__, fields)(*items)
    return tuple(items)


@functools.lru_cache(maxsize=64)
def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """One class per name and fields: Numba compiles a kernel anew for each class."""
    return collections.namedtuple(name, fields, rename=True)


def function_of(kernel: object) -> object:
    """The Python function that `@cuda.jit` was given; anything else as it is."""
    return getattr(kernel, "py_func", kernel)


class ConductedKernels(OwnKernels):
    """As `OwnKernels`, for a function that conducts: it starts kernels of kernels/, too."""

    how_to_start = (
        "it should call launch functions, or functions that do. Does it call none, or is it in a "
        "loop that has no round?"
    )

    def require_kernel(self, kernel: object) -> None:
        require_kernel_of_the_course(kernel, self.path)


def require_kernel_of_the_course(kernel: object, path: str) -> None:
    """As `require_kernel`, and kernels of lessons before this one will do.

    They are those of kernels/, or in a handout the student's own: files beside the file `path`.
    """
    code = getattr(function_of(kernel), "__code__", None)
    place = str(getattr(code, "co_filename", path))
    earlier = place.startswith(KERNELS) or Path(place).parent == Path(path).parent
    require_kernel(kernel, place if earlier else path)


def require_kernel(kernel: object, path: str) -> None:
    """Raises `NoKernel` unless it is what `@cuda.jit` made of a function in the file `path`."""
    if type(kernel) is not KERNEL:
        name = type(kernel).__name__
        if isinstance(kernel, (FunctionType, CPUDispatcher)):
            name = str(getattr(kernel, "__name__", name))
        if isinstance(kernel, FunctionType):
            raise NoKernel(f"{name} is no kernel: the line @cuda.jit above it is missing")
        if isinstance(kernel, CPUDispatcher):
            raise NoKernel(
                f"{name} is no kernel, but compiled for the CPU: write @cuda.jit above it"
            )
        raise NoKernel(f"{name} is no kernel: it is not what @cuda.jit makes of a function")
    function = cast(Any, kernel).py_func
    name = function.__name__
    if cast(Any, kernel).targetoptions["device"]:
        raise NoKernel(
            f"{name} is a device function, which only kernels can call: write @cuda.jit above it, "
            "without device=True"
        )
    elsewhere = getattr(getattr(function, "__code__", None), "co_filename", path) != path
    if elsewhere and not any(kernel is one for one in IN_PLACE):
        raise NoKernel(f"{name} is not from your file: write a kernel of your own")


def flat(values: Iterable[object]) -> Iterator[object]:
    """The values, with those of tuples in the place of the tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from flat(items_of(value))
        else:
            yield value


Launcher = Callable[..., None]


def watched(launch: Launcher, own: OwnKernels) -> Launcher:
    """A launcher that has every launch looked at."""

    def launch_own(kernel: Callable, blocks: object, threads: object, *arguments: object) -> None:
        blocks, threads, given = own.before_launch(kernel, blocks, threads, arguments)
        launch(kernel, blocks, threads, *given)

    return launch_own


@contextmanager
def noting_changes(
    launch: Launcher, arrays: Sequence[np.ndarray], note: Callable[[], None]
) -> Iterator[Launcher]:
    """A launcher that notes if the host has changed an array before a launch, or at the end."""

    def contents() -> list[bytes]:
        return [array.tobytes() for array in arrays]

    held = contents()

    def look() -> None:
        if contents() != held:
            note()

    def launch_and_keep(kernel: Callable, blocks: object, threads: object, *given: object) -> None:
        nonlocal held
        look()
        launch(kernel, blocks, threads, *given)
        held = contents()

    yield launch_and_keep
    look()


@contextmanager
def no_usual_launcher() -> Iterator[None]:
    """Where a launch function is not told where to run, it finds no GPU, even if there is one.

    It raises `CudaSupportError` then. A GPU would compute with what the arrays hold between
    launches, and nobody would look at how it was started.
    """
    before = kernels.launch.compiled_for_gpu
    kernels.launch.compiled_for_gpu = no_gpu
    try:
        yield
    finally:
        kernels.launch.compiled_for_gpu = before


def no_gpu(kernel: object) -> NoReturn:
    raise CudaSupportError("this check does not run on a GPU")
