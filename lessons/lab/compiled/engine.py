"""Run a CUDA kernel as it is written, compiled for the CPU.

    from lessons.lab import native

    native(kernel)[grid, block](*arrays)

takes the same `@cuda.jit` kernel that a GPU would run, and NumPy arrays. The kernel is rewritten
(see `rewrite`) and compiled by Numba. Threads of a block take turns from barrier to barrier,
so a barrier is exact; blocks run side by side on the cores, so atomics are real ones. Compiling
takes a second or several per kernel, once per process.

Honest limits. Threads take turns in one fixed order: a race gives one of its possible results, and
always the same; `checked_run` is there to find it. Registers are not exchanged between threads
(no shuffles, votes or `syncwarp`), there is no barrier for the whole grid, and no raw instructions.
A loop that never ends cannot be interrupted.
"""

import functools
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from kernels.errors import InputError
from lessons.lab.cells import file_label
from lessons.lab.compiled import runtime
from lessons.lab.compiled.refusal import NativeRefusal
from lessons.lab.compiled.rewrite import Rewritten, Site, compiled, rewrite
from lessons.lab.dimensions import MAX_THREADS, Dim3, as_dim3, volume
from lessons.lab.source import Source, python_function, read_source


class NativeCompileError(InputError):
    """Numba could not compile the kernel; the message names the line."""


def native(kernel: object, bounds_check: bool = True) -> "NativeKernel":
    """A form of `kernel` that is launched as on a GPU, `native(kernel)[grid, block](*arguments)`.

    kernel: what `@cuda.jit` made of a function. bounds_check: look at every index before it is
    used, and raise `IndexError` for one outside its array, or negative; without, such a kernel may
    crash. Raises `NativeRefusal` if the kernel does what this engine cannot do.

    A launch takes NumPy arrays, numbers and NamedTuples of both, returns when the kernel is done,
    and raises `NativeCompileError` if Numba cannot compile the kernel for these arguments.
    """
    return native_kernel(python_function(kernel), bounds_check)


@functools.lru_cache(maxsize=256)
def native_kernel(function: Callable, bounds_check: bool) -> "NativeKernel":
    return NativeKernel(read_source(function), bounds_check)


class NativeKernel:
    """What `native` returns: a kernel that waits for its grid and block."""

    def __init__(self, source: Source, bounds_check: bool) -> None:
        self.source = source
        self.rewritten = rewrite(source, bounds_check)
        self.run_blocks = make_driver(source, self.rewritten)

    def __getitem__(self, dimensions: tuple) -> Callable[..., None]:
        grid, block = dimensions[:2]
        return functools.partial(self.launch, as_dim3(grid, "grid"), as_dim3(block, "block"))

    def launch(self, grid: Dim3, block: Dim3, *arguments: object) -> None:
        self.check_launch(block, arguments)
        try:
            # Compile before the cores set off, in this thread, so that it happens once.
            self.run_part(0, 0, grid, block, arguments)
            self.run_on_all_cores(grid, block, arguments)
        except NumbaError as error:
            raise compile_error(self.source, error) from error

    def check_launch(self, block: Dim3, arguments: tuple) -> None:
        threads = volume(block)
        if threads > MAX_THREADS:
            raise ValueError(f"a block of {threads:,} threads: the hardware allows {MAX_THREADS:,}")
        names = [argument.arg for argument in self.source.tree.args.args]
        if len(names) != len(arguments):
            raise TypeError(
                f"{self.source.function.__name__} takes {len(names)} arguments "
                f"({', '.join(names)}), but {len(arguments)} were given"
            )

    def run_on_all_cores(self, grid: Dim3, block: Dim3, arguments: tuple) -> None:
        blocks = volume(grid)
        workers = min(numba.get_num_threads(), blocks)
        if workers == 1:
            self.run_part(0, blocks, grid, block, arguments)
            return
        ends = [blocks * worker // workers for worker in range(workers + 1)]
        futures = [
            pool().submit(self.run_part, first, last, grid, block, arguments)
            for first, last in itertools.pairwise(ends)
        ]
        for future in futures:
            future.result()

    def run_part(self, first: int, last: int, grid: Dim3, block: Dim3, arguments: tuple) -> None:
        """Run blocks first ... last - 1."""
        error = np.zeros(runtime.ERROR_WORDS, np.int64)
        try:
            self.run_blocks(first, last, block, grid, error, *arguments)
        except IndexError:
            if error[0]:
                raise IndexError(index_message(self.rewritten.sites, error)) from None
            raise


def index_message(sites: list[Site], error: np.ndarray) -> str:
    """error: what `runtime.note_outside` wrote."""
    site_number, axis, index, length, *where = error.tolist()
    site = sites[site_number - 1]
    thread, block = tuple(where[:3]), tuple(where[3:])
    problem = "is negative" if index < 0 else f"is not below {length}"
    return (
        f"{site.file}, line {site.line}: index {index} of {site.array}, axis {axis}, "
        f"{problem}; thread {thread} of block {block}"
    )


def compile_error(source: Source, error: NumbaError) -> NativeCompileError:
    """A Numba error as one line with the place in the student's file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = Path(source.filename).name
    place = ""
    for line in lines:
        if 'File "' in line and name in line and ", line " in line:
            place = f", line {line.rsplit(', line ', 1)[1].rstrip(':')}"
    known = ("No implementation", "Cannot unify", "NameError", "Unknown attribute", "Use of")
    chosen = next((line for line in lines if line.startswith(known)), None)
    chosen = chosen or (lines[1] if len(lines) > 1 else "".join(lines))
    label = file_label(source.filename)
    return NativeCompileError(f"{label}{place}: Numba cannot compile this: {chosen}")


@functools.lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(numba.get_num_threads(), thread_name_prefix="native")


# ---------------------------------------------------------------- the driver


def make_driver(source: Source, rewritten: Rewritten) -> Callable[..., None]:
    """A compiled function that runs blocks first ... last - 1 of one kernel.

    Its text is put together here, because kernels differ in their arguments and arrays.
    """
    scope: dict[str, Any] = {
        "kernel": compiled(rewritten.function),
        "position_of": runtime.position_of,
        "shared_array": runtime.shared_array,
        "local_array": runtime.local_array,
        "spoil": runtime.spoil,
    }
    make_arrays: list[str] = []
    shared = [f"shared_{i}" for i in range(len(rewritten.shared))]
    local = [f"local_{i}" for i in range(len(rewritten.local))]
    for maker, names, kinds in (
        ("shared_array", shared, rewritten.shared),
        ("local_array", local, rewritten.local),
    ):
        for name, kind in zip(names, kinds, strict=True):
            scope[f"type_of_{name}"] = kind.dtype.type
            make_arrays.append(f"{name} = {maker}(threads, {kind.shape}, type_of_{name})")
    passed = [f"argument_{i}" for i in range(len(source.tree.args.args))]
    position = "position_of(thread, block, block_size, grid_size)"
    call = [position, "error", *shared, *(f"{name}[thread]" for name in local), *passed]
    text = DRIVER.format(
        arguments=", ".join(passed),
        make_arrays="; ".join(make_arrays) or "pass",
        spoil="; ".join(f"spoil({name})" for name in shared) or "pass",
        run_threads=TAKE_TURNS if rewritten.has_barrier else ONE_BY_ONE,
    )
    exec(text.replace("CALL", f"kernel({', '.join(call)})"), scope)
    return compiled(scope["run_blocks"], allocates=True)


DRIVER = """
def run_blocks(first, last, block_size, grid_size, error, {arguments}):
    threads = block_size[0] * block_size[1] * block_size[2]
    {make_arrays}
    for block in range(first, last):
        {spoil}
{run_threads}
"""

ONE_BY_ONE = """
        for thread in range(threads):
            CALL
"""

# Every thread runs to its next barrier, then all of them to the one after. A generator in a list is
# a value, not a reference: it has to be put back after it has moved.
TAKE_TURNS = """
        generators = [CALL for thread in range(threads)]
        finished = [False for thread in range(threads)]
        running = threads
        while running > 0:
            for thread in range(threads):
                if finished[thread]:
                    continue
                generator = generators[thread]
                if next(generator):
                    finished[thread] = True
                    running -= 1
                generators[thread] = generator
"""


def launch(kernel: object, blocks: object, threads: object, *arguments: object) -> None:
    """A launcher for the `launch_*` functions of `kernels`, with bounds checks."""
    native(kernel)[blocks, threads](*arguments)


__all__ = ["NativeCompileError", "NativeRefusal", "launch", "native"]
