"""Whether a launch function does what it is for: it starts kernels of the student's own file.

This is the worker's end. A launch function may be changed, as a kernel with another grid needs it.
But what it gives to a kernel has to come from the check, and what the check gets from it has to
come from a kernel: not from NumPy, and not from the solution. So between launches its arrays hold
nothing that is worth reading: as on a GPU, the numbers are elsewhere.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.error import CudaSupportError

import kernels.launch
from lessons.course.lesson import ROOT

KERNELS = str(ROOT / "kernels")
KERNEL = type(cuda.jit(lambda: None))
MOST_NUMBERS = 32  # that a launch function passes to a kernel, besides arrays
IN_PLACE: list[object] = []  # of the file's own functions: ours, as the judge has asked for it
HIDDEN = 0xFF  # each byte of an array between launches: NaN, or -1


class NoKernel(Exception):
    """A launch function did something else than to start the student's kernel."""


class NoBlocks(Exception):
    """A launch without any block."""


class OwnKernels:
    """Looks at every launch of one run.

    arrays: what the check has sent. path: of the student's file. function: the launch function.
    """

    how_to_start = "it should call launch(kernel, blocks, threads, ...) with a kernel of your file"

    def __init__(self, arrays: Sequence[np.ndarray], path: str, function: str) -> None:
        self.arrays = arrays
        self.path = path
        self.function = function
        self.launched = False
        self.contents: list[np.ndarray] | None = None  # while they are hidden
        self.hide()

    def before_launch(self, kernel: object, blocks: object, arguments: Sequence[object]) -> None:
        """Raises `NoKernel`, as does `at_the_end`; and `NoBlocks`."""
        self.require_kernel(kernel)
        if any(number == 0 for number in flat((blocks,))):
            raise NoBlocks(
                f"{self.function} starts {blocks} blocks: their number is rounded up, as "
                "blocks_for does, so that the last elements get threads, too"
            )
        self.require_same("before it started the kernel")
        values = list(flat(arguments))
        for value in values:
            if isinstance(value, np.ndarray) and not self.is_of_the_check(value):
                raise NoKernel(
                    f"{self.function} gives the kernel an array of its own, of shape "
                    f"{value.shape}: pass the arrays that it was called with"
                )
        numbers = [value for value in values if not isinstance(value, np.ndarray)]
        if len(numbers) > MOST_NUMBERS:
            raise NoKernel(f"{self.function} gives the kernel more than {MOST_NUMBERS} numbers")
        if any(isinstance(number, (float, np.floating)) and number != number for number in numbers):
            raise NoKernel(
                f"{self.function} gives the kernel a number that it has computed of an array's "
                "elements, and here they are NaN: on a GPU they are on the device. Give the kernel "
                "the array"
            )
        self.launched = True
        self.show()

    def require_kernel(self, kernel: object) -> None:
        """Raises `NoKernel` for what this function may not start."""
        require_kernel(kernel, self.path)

    def after_launch(self) -> None:
        self.hide()

    def at_the_end(self) -> None:
        if not self.launched:
            raise NoKernel(f"{self.function} started no kernel: {self.how_to_start}")
        self.require_same("after the last kernel")

    def hide(self) -> None:
        """Keep what is in the arrays, and leave them with nothing in them."""
        self.contents = [array.copy() for array in self.arrays]
        for array in self.arrays:
            bytes_of(array)[...] = HIDDEN

    def show(self) -> None:
        """Put it back; nothing if it is there."""
        for array, content in zip(self.arrays, self.contents or (), strict=False):
            array[...] = content
        self.contents = None

    def require_same(self, when: str) -> None:
        for array in self.arrays:
            if (bytes_of(array) != HIDDEN).any():
                raise NoKernel(
                    f"{self.function} itself has changed an array, {when}: a launch function only "
                    "starts kernels, and these compute"
                )

    def is_of_the_check(self, value: np.ndarray) -> bool:
        return value.size == 0 or any(np.may_share_memory(value, mine) for mine in self.arrays)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The memory of an array, as uint8."""
    return array.reshape(-1).view(np.uint8)


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
    function = function_of(kernel)
    name = getattr(function, "__name__", "this")
    options = getattr(kernel, "targetoptions", None)
    if options is None:
        raise NoKernel(f"{name} is no kernel: the line @cuda.jit above it is missing")
    if "device" not in options:
        raise NoKernel(f"{name} is no kernel, but compiled for the CPU: write @cuda.jit above it")
    if type(kernel) is not KERNEL:
        raise NoKernel(f"{name} is no kernel: it is not what @cuda.jit makes of a function")
    if options["device"]:
        raise NoKernel(
            f"{name} is a device function, which only kernels can call: write @cuda.jit above it, "
            "without device=True"
        )
    elsewhere = getattr(getattr(function, "__code__", None), "co_filename", path) != path
    if elsewhere and not any(kernel is one for one in IN_PLACE):
        raise NoKernel(f"{name} is not from your file: write a kernel of your own")


def flat(values: Sequence[object]) -> Iterator[object]:
    """The values, with those of tuples in the place of the tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from flat(value)
        else:
            yield value


Launcher = Callable[..., None]


def watched(launch: Launcher, own: OwnKernels) -> Launcher:
    """A launcher that has every launch looked at."""

    def launch_own(kernel: Callable, blocks: object, threads: object, *arguments: object) -> None:
        own.before_launch(kernel, blocks, arguments)
        try:
            launch(kernel, blocks, threads, *arguments)
        finally:
            own.after_launch()

    return launch_own


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
