"""Run a CUDA kernel as it is written, compiled for the CPU.

    from lessons.lab import native

    native(kernel)[grid, block](*arrays)

takes the same `@cuda.jit` kernel that a GPU would run, and NumPy arrays. The kernel is rewritten
(see `native_rewrite`) and compiled by Numba. Threads of a block take turns from barrier to barrier,
so a barrier is exact; blocks run side by side on the cores, so atomics are real ones. Compiling
takes a second or several for each kernel, once in a process.

Honest limits. Threads take turns in one fixed order: a race gives one of its possible results, and
always the same; `checked_run` is there to find it. Registers are not exchanged between threads
(no shuffles, votes or `syncwarp`), there is no barrier for the whole grid, and no raw instructions.
A loop that never ends cannot be interrupted.
"""

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
from numba import njit
from numba.core.errors import NumbaError

from kernels.errors import InputError
from lessons.lab.compiled import runtime
from lessons.lab.compiled.rewrite import OPTIONS, WITH_ALLOCATION, NativeRefusal, rewrite
from lessons.lab.dimensions import MAX_THREADS, as_dim3
from lessons.lab.source import read_source


class NativeCompileError(InputError):
    """Numba could not compile the kernel; the message names the line."""


def native(kernel, bounds_check=True):
    """A form of `kernel` that is launched as on a GPU, `native(kernel)[grid, block](*arguments)`.

    kernel: what `@cuda.jit` made of a function. bounds_check: look at every index before it is
    used, and raise `IndexError` for one outside its array, or negative; without, such a kernel may
    crash. Raises `NativeRefusal` if the kernel does what this engine cannot do.

    A launch takes NumPy arrays, numbers and NamedTuples of both, returns when the kernel is done,
    and raises `NativeCompileError` if Numba cannot compile the kernel for these arguments.
    """
    return NativeKernel.of(read_source(kernel), bounds_check)


class NativeKernel:
    def __init__(self, source, bounds_check):
        self.source = source
        self.rewritten = rewrite(source, bounds_check)
        self.run_blocks = make_driver(source, self.rewritten)

    @staticmethod
    @functools.lru_cache(maxsize=256)
    def kept(function, bounds_check):
        return NativeKernel(read_source(function), bounds_check)

    @staticmethod
    def of(source, bounds_check):
        return NativeKernel.kept(source.function, bounds_check)

    def __getitem__(self, dimensions):
        grid, block = dimensions[:2]
        return functools.partial(self.launch, as_dim3(grid, "grid"), as_dim3(block, "block"))

    def launch(self, grid, block, *arguments):
        threads = block[0] * block[1] * block[2]
        if threads > MAX_THREADS:
            raise ValueError(f"a block of {threads:,} threads: the hardware allows {MAX_THREADS:,}")
        names = [argument.arg for argument in self.source.tree.args.args]
        if len(names) != len(arguments):
            raise TypeError(
                f"{self.source.function.__name__} takes {len(names)} arguments "
                f"({', '.join(names)}), but {len(arguments)} were given"
            )
        blocks = grid[0] * grid[1] * grid[2]
        workers = min(numba.get_num_threads(), blocks)
        parts = np.linspace(0, blocks, workers + 1).astype(int)
        try:
            # Compile before the cores set off, in this thread, so that it happens once.
            self.run_part(0, 0, grid, block, arguments)
            if workers == 1:
                self.run_part(0, blocks, grid, block, arguments)
                return
            futures = [
                pool().submit(self.run_part, int(first), int(last), grid, block, arguments)
                for first, last in itertools.pairwise(parts)
            ]
            for future in futures:
                future.result()
        except NumbaError as error:
            raise self.explain(error) from error

    def run_part(self, first, last, grid, block, arguments):
        error = np.zeros(runtime.ERROR_WORDS, np.int64)
        try:
            self.run_blocks(first, last, block, grid, error, *arguments)
        except IndexError:
            if error[0]:
                raise IndexError(self.describe_index(error, arguments)) from None
            raise

    def describe_index(self, error, arguments):
        site = self.rewritten.sites[error[0] - 1]
        axis, index, length = (int(value) for value in error[1:4])
        thread, block = tuple(map(int, error[4:7])), tuple(map(int, error[7:10]))
        problem = "is negative" if index < 0 else f"is not below {length}"
        return (
            f"{site.file}, line {site.line}: index {index} of {site.array}, axis {axis}, {problem}; "
            f"thread {thread} of block {block}"
        )

    def explain(self, error):
        """A Numba error as one line with the place in the student's file."""
        text = str(error)
        name = Path(self.source.filename).name
        line = ""
        for part in text.splitlines():
            if 'File "' in part and name in part and ", line " in part:
                line = f", line {part.rsplit(', line ', 1)[1].strip().rstrip(':')}"
        essence = [part.strip() for part in text.splitlines() if part.strip()]
        known = ("No implementation", "Cannot unify", "NameError", "Unknown attribute", "Use of")
        chosen = next((part for part in essence if part.startswith(known)), None)
        chosen = chosen or (essence[1] if len(essence) > 1 else "".join(essence))
        return NativeCompileError(f"{name}{line}: Numba cannot compile this: {chosen}")


@functools.lru_cache(maxsize=1)
def pool():
    return ThreadPoolExecutor(numba.get_num_threads(), thread_name_prefix="native")


# ---------------------------------------------------------------- the driver


def make_driver(source, rewritten):
    """A compiled function that runs blocks first ... last - 1 of one kernel.

    Its text is put together here, because kernels differ in their arguments and arrays.
    """
    passed = [f"argument_{i}" for i in range(len(source.tree.args.args))]
    shared = [f"shared_{i}" for i in range(len(rewritten.shared))]
    local = [f"local_{i}" for i in range(len(rewritten.local))]
    scope = {
        "kernel": njit(**OPTIONS)(rewritten.function),
        "position": runtime.position,
        "shared_array": runtime.shared_array,
        "local_array": runtime.local_array,
    }
    make_arrays = []
    for maker, names, arrays in (
        ("shared_array", shared, rewritten.shared),
        ("local_array", local, rewritten.local),
    ):
        for name, (shape, dtype) in zip(names, arrays, strict=True):
            scope[f"type_of_{name}"] = dtype.type
            make_arrays.append(f"{name} = {maker}(threads, {shape}, type_of_{name})")
    spoil = [f"runtime_spoil({name})" for name in shared]
    scope["runtime_spoil"] = runtime.spoil
    where = "position(thread, block, block_size, grid_size)"
    call = [where, "error", *shared, *(f"{name}[thread]" for name in local), *passed]
    text = DRIVER.format(
        arguments=", ".join(passed),
        make_arrays="; ".join(make_arrays) or "pass",
        spoil="; ".join(spoil) or "pass",
        run_threads=TAKE_TURNS if rewritten.has_barrier else ONE_BY_ONE,
    )
    exec(text.replace("CALL", f"kernel({', '.join(call)})"), scope)
    return njit(**WITH_ALLOCATION)(scope["run_blocks"])


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


def launch(kernel, blocks, threads, *arguments):
    """A launcher for the `launch_*` functions of `kernels`, with bounds checks."""
    native(kernel)[blocks, threads](*arguments)


__all__ = ["NativeCompileError", "NativeRefusal", "launch", "native"]
