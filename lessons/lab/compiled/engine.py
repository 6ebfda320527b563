"""Run a CUDA kernel as it is written, compiled for the CPU.

    from lessons.lab import native

    native(kernel)[grid, block](*arrays)

takes the same `@cuda.jit` kernel that a GPU would run, and NumPy arrays. The kernel is rewritten
(see `rewrite`) and compiled by Numba. Threads of a block take turns from barrier to barrier,
so a barrier is exact; blocks run side by side on the cores, so atomics are real ones. Compiling
takes a second or so per kernel, once per process. Ctrl-C ends a launch.

Honest limits. Threads take turns in one fixed order: a race gives one of its possible results, and
always the same; `checked_run` is there to find it. There are no raw instructions.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any

import numba
import numpy as np
from numba._dispatcher import compute_fingerprint
from numba.core import types

from ..compile_verdict import compile_verdict
from ..dimensions import MAX_THREADS, Dim3, configuration, volume
from ..errors import InputError, refuse_names
from ..signatures import converted
from ..source import Source, file_label, python_function, read_source
from ..uninterrupted import uninterrupted
from . import half
from .compiler import compile_entry
from .cores import Endless, run_on_cores
from .driver import Driver
from .memory import DYNAMIC_LIMIT, LOCAL_LIMIT, SHARED_LIMIT
from .messages import (
    NativeCompileError,
    NativeRefusal,
    compile_error,
    endless_message,
    index_error,
    stuck_message,
)
from .program import Rewritten
from .rewrite import rewrite
from .thread import LOCAL, NOTE_WORDS, SHARED
from .warps import GRID, ROWS

FEW_THREADS = 4096  # which are done before another core has woken up
# What Numba says where a kernel needs arrays that own memory.
NEEDS_COUNTS = ("NRT required", "Only accept returning of array passed")
MEMORY_LIMIT = 2 << 30  # bytes, for the threads that run at the same time
ENTRY_TYPES = (
    types.int64,  # first block
    types.int64,  # and the one after the last
    types.UniTuple(types.int64, 3),  # threads of a block
    types.UniTuple(types.int64, 3),  # blocks of the grid
    types.Array(types.int64, 1, "C"),  # notes
    types.UniTuple(types.int64, 6),  # addresses and sizes of memory
    types.Array(types.uint8, 1, "C"),  # shared memory
    types.Array(types.int64, 1, "C"),  # what each thread waits for
    types.Array(types.int64, 2, "C"),  # warp memory
    types.Array(types.uint8, 1, "C"),  # a generator per thread
)


def native(kernel: object, bounds_check: bool = True, ask_numba: bool = True) -> "NativeKernel":
    """A form of `kernel` that is launched as on a GPU, `native(kernel)[grid, block](*arguments)`.

    kernel: what `@cuda.jit` made of a function. bounds_check: look at every index before it is
    used, and raise `IndexError` for one outside its array, or negative (but a written-out `-1`
    counts from the end); without, such a kernel may crash. ask_numba: let Numba's compiler for GPUs
    say, where it is installed, whether the kernel compiles, once for each types of arguments.
    Raises `NativeRefusal` if the kernel does what this engine cannot do.

    A launch takes NumPy arrays, numbers and NamedTuples of both, returns when the kernel is done,
    and raises `NativeCompileError` if Numba does not compile the kernel for these arguments. As on
    a GPU, a stream and a number of bytes of dynamic shared memory may follow grid and block.
    """
    python_function(kernel)  # raises if it is none
    return native_kernel(kernel, bounds_check, ask_numba)


@functools.lru_cache(maxsize=256)
def native_kernel(kernel: Hashable, bounds_check: bool, ask_numba: bool) -> "NativeKernel":
    return NativeKernel(kernel, bounds_check, ask_numba)


class Compiled:
    """A kernel compiled for arguments of certain types."""

    def __init__(self, source: Source, bounds_check: bool, debug: bool, kinds: tuple) -> None:
        try:
            self.compile(rewrite(source, bounds_check, debug), kinds)
        except InputError:
            raise
        except Exception as first:
            if not any(words in str(first) for words in NEEDS_COUNTS):
                raise compile_error(source, first) from None
            try:
                self.compile(rewrite(source, bounds_check, debug, counts=True), kinds)
            except Exception as error:
                raise compile_error(source, error) from None

    def compile(self, rewritten: Rewritten, kinds: tuple) -> None:
        self.waits = rewritten.waits
        self.is_short = rewritten.is_short
        self.sites = rewritten.sites
        self.layout = rewritten.layout
        check_size("shared arrays of a block", self.layout.known_bytes[SHARED], SHARED_LIMIT)
        check_size("local arrays of a thread", self.layout.known_bytes[LOCAL], LOCAL_LIMIT)
        half.install()
        driver = Driver(rewritten, len(kinds))
        self.entry = compile_entry(driver.function, (*ENTRY_TYPES, *kinds), rewritten.parts)
        self.generator_bytes = driver.generator_bytes


def check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise NativeRefusal(f"the {what} take {size:,} bytes; the hardware has {limit:,}")


class NativeKernel:
    """What `native` returns: a kernel that waits for its grid and block."""

    def __init__(self, kernel: Any, bounds_check: bool, ask_numba: bool) -> None:
        self.kernel = kernel
        self.source = read_source(python_function(kernel))
        self.bounds_check = bounds_check
        self.ask_numba = ask_numba
        self.debug = bool((getattr(kernel, "targetoptions", None) or {}).get("debug"))
        self.compiled: dict[tuple, Compiled] = {}  # by the types of the arguments
        self.by_fingerprint: dict[tuple | None, Compiled] = {}  # which are quicker to find
        rewrite(self.source, bounds_check, self.debug)  # what cannot be done is said here

    def __getitem__(self, dimensions: tuple) -> Callable[..., None]:
        chosen = configuration(dimensions)
        check_size("bytes of dynamic shared memory", chosen.shared_bytes, DYNAMIC_LIMIT)
        return functools.partial(self.launch, chosen.grid, chosen.block, chosen.shared_bytes)

    def launch(
        self, grid: Dim3, block: Dim3, dynamic_bytes: int, *arguments: object, **by_name: object
    ) -> None:
        refuse_names(by_name)
        arguments, types_of_signature = converted(self.kernel, arguments)
        self.check_launch(block, arguments)
        compiled = self.compiled_for(arguments, types_of_signature)
        run(compiled, grid, block, dynamic_bytes, arguments)

    def compiled_for(self, arguments: tuple, types_of_signature: tuple | None) -> Compiled:
        try:
            key = tuple(map(compute_fingerprint, arguments))
        except NotImplementedError:  # a NamedTuple, for one
            key = None
        if key in self.by_fingerprint:
            return self.by_fingerprint[key]
        kinds = tuple(map(type_of, arguments, self.source.parameters))
        if kinds not in self.compiled:
            self.refuse_as_numba_does(arguments, types_of_signature)
            self.compiled[kinds] = uninterrupted(
                lambda: Compiled(self.source, self.bounds_check, self.debug, kinds)
            )
        if key is not None:
            self.by_fingerprint[key] = self.compiled[kinds]
        return self.compiled[kinds]

    def refuse_as_numba_does(self, arguments: tuple, types_of_signature: tuple | None) -> None:
        """Raise `NativeCompileError` for what does not compile for a GPU, though for a CPU."""
        verdict = compile_verdict(
            self.kernel, self.source, arguments, types_of_signature, self.ask_numba
        )
        for refusal in verdict.refusals:
            where = f"{file_label(refusal.filename)}, line {refusal.line}"
            raise NativeCompileError(f"{where}: {refusal.message}")

    def check_launch(self, block: Dim3, arguments: tuple) -> None:
        threads = volume(block)
        if threads > MAX_THREADS:
            raise ValueError(f"a block of {threads:,} threads: the hardware allows {MAX_THREADS:,}")
        self.source.require_count(arguments)


def type_of(argument: object, name: str) -> Any:
    """Numba's type of an argument. Raises `TypeError` for what a kernel cannot take."""
    try:
        return numba.typeof(argument)
    except ValueError:
        raise TypeError(f"a kernel cannot take {name}, a {type(argument).__name__}") from None


def run(compiled: Compiled, grid: Dim3, block: Dim3, dynamic_bytes: int, arguments: tuple) -> None:
    """Launch: return when all blocks are done."""
    threads = volume(block)
    layout, waits = compiled.layout, bool(compiled.waits)
    together = volume(grid) if GRID in compiled.waits else 1  # blocks that run at the same time
    check_memory(compiled, together * threads)

    def run_part(first: int, last: int, notes: np.ndarray) -> None:
        """Run blocks first ... last - 1."""
        alive = together * threads
        shared = np.empty(together * (layout.bytes[SHARED] + dynamic_bytes), np.uint8)
        local = np.empty(layout.bytes[LOCAL] * (alive if waits else 1), np.uint8)
        states = np.empty(alive * waits, np.int64)
        warp = np.zeros((together * ROWS * waits, threads), np.int64)
        generators = np.empty(compiled.generator_bytes * alive, np.uint8)
        addresses = [array.ctypes.data for array in (notes, shared, local, warp)]
        local_bytes = layout.bytes[LOCAL] if waits else 0  # else one thread's serves the next
        memory = (*addresses, local_bytes, dynamic_bytes)
        memory_of_block = (notes, memory, shared, states, warp, generators)
        try:
            compiled.entry(first, last, block, grid, *memory_of_block, *arguments)
        except IndexError:
            if notes[0] > 0:
                raise index_error(compiled.sites, notes) from None
            raise
        except RecursionError:
            raise RecursionError("a function of the kernel calls itself too often") from None
        if notes[0] < 0:
            raise NativeRefusal(stuck_message(compiled.sites, notes))

    if compiled.is_short and volume(grid) * threads <= FEW_THREADS:
        run_part(0, volume(grid), np.zeros(NOTE_WORDS, np.int64))
        return
    try:
        run_on_cores(volume(grid), 1 if together > 1 else numba.get_num_threads(), run_part)
    except Endless as endless:
        raise NativeRefusal(endless_message(compiled.sites[endless.site])) from None


def check_memory(compiled: Compiled, threads: int) -> None:
    needed = threads * (compiled.generator_bytes + compiled.layout.bytes[LOCAL] + 8 * (ROWS + 1))
    if needed > MEMORY_LIMIT:
        raise NativeRefusal(
            f"{threads:,} threads that wait for each other take {needed / 2**30:.1f} GiB: "
            "launch fewer"
        )


def launch(
    kernel: object, blocks: object, threads: object, *arguments: object, ask_numba: bool = True
) -> None:
    """A launcher for the `launch_*` functions of `kernels`, with bounds checks."""
    native(kernel, ask_numba=ask_numba)[blocks, threads](*arguments)


__all__ = ["NativeCompileError", "NativeRefusal", "launch", "native"]
