"""What the lab says of the smallest kernel for each thing that it has to get right, as a table.

    python -m tests.lab.points

`test_points.py` holds each answer to what is expected here.
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, int8, int32

from lessons.lab import checked_run, native
from lessons.lab.errors import InputError


class Point(NamedTuple):
    """group: what the point is about. expected: words of the answer, "nothing found" for none."""

    group: str
    title: str
    kernel: Any
    launch: tuple[Any, Any, Callable[[], tuple]]
    expected: str
    options: dict[str, Any]
    engine: str


POINTS: list[Point] = []
GROUPS = {
    "compile": "1. `compile` tells the truth",
    "false": "2. No false finding",
    "order": "3. Memory ordering",
    "missed": "4. Nothing missed",
    "traceback": "5. No traceback of ours",
    "native": "6. `native` checks what it says",
    "slow": "7. `slow` is advice",
}


def point(
    group: str, title: str, expected: str, *launch: Any, engine: str = "checked", **options: Any
) -> Callable:
    """Add a kernel. launch: grid, block, and what makes the arguments; else one thread, 4 zeros."""

    def add(function: Callable) -> Callable:
        where = launch or (1, 1, numbers)
        POINTS.append(Point(group, title, cuda.jit(function), where, expected, options, engine))
        return function

    return add


def numbers() -> tuple:
    return (np.zeros(4, np.float32),)


def whole_numbers() -> tuple:
    return (np.zeros(4, np.int32),)


def two_arrays() -> tuple:
    return np.ones(64, np.float32), np.zeros(64, np.float32)


def answer(one: Point) -> str:
    """What the lab says, in one line."""
    grid, block, arguments = one.launch
    if one.engine == "native":
        try:
            native(one.kernel)[grid, block](*arguments())
        except (InputError, IndexError) as error:
            return f"{type(error).__name__}: {str(error).partition(': ')[2]}"
        return "nothing found"
    report = checked_run(one.kernel, grid, block, *arguments(), **one.options)
    said = [f"{finding.kind}: {finding.message}" for finding in report.problems or report.advice]
    if not said:
        return "nothing found"
    return f"{said[0]} (advice: the report is ok)" if report.ok else said[0]


def table() -> str:
    lines = []
    for group, title in GROUPS.items():
        lines += [f"**{title}**", "", "| kernel | what the lab says |", "|---|---|"]
        for one in POINTS:
            if one.group == group:
                said = answer(one).replace("|", "\\|")
                lines.append(f"| {one.title} | {said} |")
        lines.append("")
    return "\n".join(lines)


# ---------------------------------------------------------------- 1. compile


def helper(x):
    return x + 1


@point("compile", "`y = helper(x[0])`, helper undecorated", "compile: `helper` is a plain Python")
def undecorated(x):
    x[0] = helper(x[0])


@point(
    "compile",
    "the same on `native`",
    "NativeCompileError: `helper` is a plain Python",
    engine="native",
)
def undecorated_on_native(x):
    x[0] = helper(x[0])


@point("compile", "`cuda.syncthread()` where no thread comes", "did you mean")
def misspelt(x):
    if x[0] > 1:
        cuda.syncthread()


@point(
    "compile", "`x[i / 2] = 1` where no thread comes", "compile: an index must be a whole number"
)
def float_index(x):
    if x[0] > 1:
        x[cuda.grid(1) / 2] = 1


@point("compile", "an atomic on 8-bit numbers", "compile:", 1, 1, lambda: (np.zeros(4, np.int8),))
def small_atomic(x):
    cuda.atomic.add(x, 0, int8(1))


@point("compile", "a vote on a truth value", "compile: cuda.syncthreads_count")
def vote_on_a_bool(x):
    x[0] = cuda.syncthreads_count(x[0] > 1)


# ---------------------------------------------------------------- 2. no false finding


@point("false", "`while n < 30000: n += 1`", "nothing found")
def counts(x):
    n = 0
    while n < 30000:
        n += 1
    x[0] = n


@point("false", "the same with no end", "endless:", budget=5000)
def does_not_count(x):
    n = 1
    while n > 0:
        n = 1
    x[0] = n


@point(
    "false",
    "a lock by compare-and-swap, 1,024 threads",
    "nothing found",
    4,
    256,
    whole_numbers,
    without=("slow",),
)
def lock(x):
    while cuda.atomic.cas(x, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    x[1] += 1
    cuda.threadfence()
    cuda.atomic.exch(x, 0, 0)


@point("false", "`x[-1]`", "Numba allows it")
def last(x):
    x[-1] = 1


@point(
    "false",
    "`a, b = b, a` of two arrays under a guard",
    "nothing found",
    1,
    32,
    two_arrays,
    without=("slow",),
)
def swap(a, b):
    i = cuda.grid(1)
    if i > 3:
        a, b = b, a
    a[i] = b[i]


# ---------------------------------------------------------------- 3. ordering


@point(
    "order", "the last block sums, with a fence", "nothing found", 2, 1, whole_numbers,
    without=("slow",),
)  # fmt: skip
def last_block(x):
    x[cuda.blockIdx.x] = 1
    cuda.threadfence()
    if cuda.atomic.add(x, 2, 1) == 1:
        x[3] = x[0] + x[1]


@point("order", "the same without", "put cuda.threadfence() between", 2, 1, whole_numbers)
def last_block_unfenced(x):
    x[cuda.blockIdx.x] = 1
    if cuda.atomic.add(x, 2, 1) == 1:
        x[3] = x[0] + x[1]


@point("order", "`x[0] += 1` by two blocks", "read-modify-write of x[0]", 2, 1, numbers)
def lost(x):
    x[0] += 1


@point(
    "order",
    "a tile that the next round overwrites",
    "a second cuda.syncthreads()",
    1,
    32,
    two_arrays,
    without=("slow",),
)
def tile(a, b):
    shared = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    for k in range(2):
        shared[i] = a[i + 32 * k]
        cuda.syncthreads()
        b[i] += shared[31 - i]


# ---------------------------------------------------------------- 4. nothing missed


@point("missed", "`assert x[0] > 0`", "raised:")
def asserts(x):
    assert x[0] > 0
    x[0] = 1


@point(
    "missed",
    "two dynamic shared arrays, which overlap",
    "race:",
    1,
    32,
    two_arrays,
    dynamic_shared=256,
)
def overlap(a, b):
    one = cuda.shared.array(0, float32)
    two = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    one[i] = a[i]
    two[31 - i] = b[i]
    cuda.syncthreads()
    b[i] = one[i] + two[i]


@point("missed", "400 KB of dynamic shared memory", "limits:", dynamic_shared=400_000)
def too_much_shared(x):
    x[0] = 1


@point(
    "missed",
    "an index in int32 that overflows",
    "overflow:",
    1,
    1,
    lambda: (np.zeros(4, np.float32), np.int32(2**30)),
)
def overflows(x, n):
    x[int32(n * int32(4))] = 1


@point("missed", "an output that is not all written", "unwritten:", expect_written="x")
def writes_one(x):
    x[0] = 1


@point("missed", "an array of garbage that is read", "uninitialised:", uninitialised="x")
def reads_garbage(x):
    x[0] += 1


# ---------------------------------------------------------------- 5. no traceback


@point("traceback", "`random.random()`", "compile:")
def draws(x):
    x[0] = random.random()


@point("traceback", "5,000,000 blocks of 256 threads", "GB of memory", 5_000_000, 256, numbers)
def too_many(x):
    x[0] = 1


@point("traceback", "a bitwise atomic on floats", "compile:")
def bits_of_floats(x):
    cuda.atomic.and_(x, 0, 1)


# ---------------------------------------------------------------- 6. native


@point(
    "native",
    "`x[i][j]` outside",
    "IndexError: index 9",
    1,
    1,
    lambda: (np.zeros((2, 4)), 9),
    engine="native",
)
def row_then_column(x, j):
    x[0][j] = 1


@point(
    "native",
    "`x.T[i, j]` outside",
    "IndexError: index 9",
    1,
    1,
    lambda: (np.zeros((2, 4)), 9),
    engine="native",
)
def transposed(x, j):
    x.T[j, 0] = 1


@point(
    "native",
    "a shuffle, `popc`, a fused multiply-add",
    "nothing found",
    1,
    32,
    lambda: (np.zeros(32, np.float32),),
    engine="native",
)
def intrinsics(x):
    i = cuda.threadIdx.x
    x[i] = cuda.fma(float32(cuda.popc(i)), cuda.shfl_xor_sync(-1, x[i], 1), float32(1))


@point(
    "native",
    "a flag that only a later thread sets",
    "nothing found",
    1,
    2,
    whole_numbers,
    engine="native",
)
def waits(x):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(x, 0, 0) == 0:
            pass
    cuda.atomic.exch(x, 0, 1)


@point("native", "a flag that nobody sets", "NativeRefusal:", 1, 2, whole_numbers, engine="native")
def waits_for_ever(x):
    while x[0] == 0:
        pass


# ---------------------------------------------------------------- 7. slow


@point("slow", "`x[0] * 0.5` on float32", "(advice: the report is ok)")
def half_of_it(x):
    x[0] = x[0] * 0.5


@point("slow", "the same on an array of float64", "nothing found", 1, 1, lambda: (np.zeros(4),))
def half_of_a_double(x):
    x[0] = x[0] * 0.5


@point("slow", "the same with `without=['slow']`", "nothing found", without=("slow",))
def half_unsaid(x):
    x[0] = x[0] * 0.5


if __name__ == "__main__":
    print(table())
