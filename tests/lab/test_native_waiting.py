"""What threads of the native engine keep while they wait, and what they find again."""

import numpy as np
import pytest
from numba import cuda, float32, int32
from numba.extending import register_jitable

from lessons.lab import checked_run, native

THREADS = 64


@cuda.jit
def two_arrays_by_one_name(first, second, out):
    """`source` and `tile` are not what they were at the first barrier."""
    even = cuda.shared.array(THREADS, int32)
    odd = cuda.shared.array(THREADS, int32)
    thread = cuda.threadIdx.x
    source = first
    tile = even
    for step in range(4):
        tile[thread] = source[thread] + step
        cuda.syncthreads()
        out[step, thread] = tile[THREADS - 1 - thread]
        cuda.syncthreads()
        source = second if step % 2 == 0 else first
        tile = odd if step % 2 == 0 else even


@cuda.jit
def keeps_its_numbers(values, out):
    """Local arrays are not made anew by a barrier, also one within a function."""
    mine = cuda.local.array(4, float32)
    again = mine
    thread = cuda.threadIdx.x
    for i in range(4):
        mine[i] = values[thread] + float32(i)
    add_neighbours(values, again)
    cuda.syncthreads()
    for i in range(4):
        out[thread, i] = mine[i]


@register_jitable
def add_neighbours(numbers, into):
    tile = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    tile[thread] = numbers[thread]
    cuda.syncthreads()
    for i in range(4):
        into[i] += tile[(thread + i) % THREADS]
    cuda.syncthreads()


@register_jitable
def largest_and_last(numbers, large):
    """Works on an array of its own, which is larger than what goes onto the stack if `large`."""
    own = cuda.local.array(4, float32)
    rest = cuda.local.array(2048, float32)
    for i in range(4):
        own[i] = numbers[i]
        rest[i] = -numbers[i]
    if large:
        return rest[3]
    return max(max(own[0], own[1]), max(own[2], own[3]))


@cuda.jit
def calls_twice(values, out):
    mine = cuda.local.array(4, float32)
    thread = cuda.threadIdx.x
    for i in range(4):
        mine[i] = values[(thread + i) % THREADS]
    cuda.syncthreads()
    first = largest_and_last(mine, False)
    mine[3] = float32(9)
    out[thread, 0] = first
    out[thread, 1] = largest_and_last(mine, False)
    out[thread, 2] = largest_and_last(mine, True)


@cuda.jit
def finds_its_arguments(a, b, c, d, e, out):
    thread = cuda.threadIdx.x
    total = float32(0)
    for _ in range(2):
        total += a[thread] + b[thread] + c[thread] + d[thread] + e[thread]
        cuda.syncthreads()
    out[thread] = total


def numbers(*shape):
    return np.random.default_rng(2).random(shape).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel, inputs, shape, kind",
    [
        (two_arrays_by_one_name, [np.arange(64, dtype=np.int32)] * 2, (4, 64), np.int32),
        (keeps_its_numbers, [numbers(64)], (64, 4), np.float32),
        (calls_twice, [numbers(64)], (64, 3), np.float32),
        (finds_its_arguments, [numbers(64)] * 5, (64,), np.float32),
    ],
    ids=["two arrays by one name", "local arrays", "arrays of functions", "arguments"],
)
def test_both_engines_compute_the_same(kernel, inputs, shape, kind):
    inputs = [array * (1 + number) for number, array in enumerate(inputs)]
    results = np.zeros((2, *shape), kind)
    native(kernel, ask_numba=False)[1, THREADS](*inputs, results[0])
    checked_run(kernel, 1, THREADS, *inputs, results[1], ask_numba=False).raise_if_problems()
    assert results.any()
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


@pytest.mark.slow
def test_a_thread_that_waits_keeps_no_arrays():
    """Six arrays of one dimension would take 336 bytes."""
    launched = native(finds_its_arguments, ask_numba=False)
    launched[1, THREADS](*[numbers(64)] * 5, np.zeros(64, np.float32))
    (compiled,) = launched.compiled.values()
    arguments = 6 * 7 * 8 + 12 * 4 + 5 * 8  # which lie there in any case
    assert compiled.generator_bytes < arguments + 200
