"""The native engine: exact barriers, real atomics, checked indices, and refusals that say why."""

import _thread
import signal
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, int32, int64, uint32
from numba.extending import register_jitable

from lessons.lab import native
from lessons.lab.compiled.engine import NativeCompileError, NativeRefusal
from tests.lab.helpers import line_of_comment

TILE = 16
SCALE = np.array([3, 5], np.int32)


# ---------------------------------------------------------------- barriers and arrays


@cuda.jit
def turn_around_and_sum(values, turned, total):
    tile = cuda.shared.array((2, 32), float32)
    sums = cuda.shared.array(64, int64)
    mine = cuda.local.array((2, 2), float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread // 32, thread % 32] = values[i]
    sums[thread] = i
    mine[1, 0] = values[i]
    cuda.syncthreads()
    other = 63 - thread
    turned[i] = tile[other // 32, other % 32] + mine[1, 0]
    active = 32
    while active > 0:
        if thread < active:
            sums[thread] += sums[thread + active]
        cuda.syncthreads()
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, sums[0])


@pytest.mark.parametrize("blocks", [1, 2, 33])
@pytest.mark.slow
def test_barriers_are_exact(blocks):
    values = np.random.default_rng(1).random(64 * blocks).astype(np.float32)
    turned, total = np.zeros_like(values), np.zeros(1, np.int64)
    native(turn_around_and_sum)[blocks, 64](values, turned, total)
    expected = values.reshape(blocks, 64)[:, ::-1].ravel() + values
    np.testing.assert_array_equal(turned, expected)
    assert total[0] == np.arange(64 * blocks).sum()


@cuda.jit
def leaves_early(out, limit):
    shared = cuda.shared.array(32, int32)
    i = cuda.grid(1)
    if i >= limit:
        return
    shared[cuda.threadIdx.x] = i
    cuda.syncthreads()
    out[i] = shared[cuda.threadIdx.x] + shared[0]


@pytest.mark.slow
def test_threads_that_return_early_are_not_waited_for():
    out = np.full(64, -1, np.int32)
    native(leaves_early)[2, 32](out, 40)
    block = np.arange(64) // 32 * 32
    np.testing.assert_array_equal(out, np.where(np.arange(64) < 40, np.arange(64) + block, -1))


@cuda.jit
def garbage(out):
    shared = cuda.shared.array(4, float32)
    local = cuda.local.array(4, float32)
    out[0] = shared[1]
    out[1] = local[2]


def test_unwritten_memory_does_not_look_right_by_luck():
    out = np.zeros(2, np.float32)
    native(garbage)[1, 1](out)
    assert np.isnan(out).all()


@cuda.jit
def positions(out):
    x, y, z = cuda.grid(3)
    out[z, y, x, 0] = cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.threadIdx.z
    out[z, y, x, 1] = cuda.blockIdx.x + 10 * cuda.blockIdx.y + 100 * cuda.blockIdx.z
    out[z, y, x, 2] = cuda.blockDim.x + 10 * cuda.blockDim.y + 100 * cuda.blockDim.z
    out[z, y, x, 3] = cuda.gridDim.x + 10 * cuda.gridDim.y + 100 * cuda.gridDim.z
    width, height, depth = cuda.gridsize(3)
    out[z, y, x, 4] = width + 100 * height + 10_000 * depth
    out[z, y, x, 5] = cuda.laneid


@pytest.mark.slow
def test_three_dimensional_positions():
    out = np.full((4, 6, 15, 6), -1, np.int32)
    native(positions)[(3, 2, 2), (5, 3, 2)](out)
    z, y, x = np.mgrid[:4, :6, :15]
    np.testing.assert_array_equal(out[..., 0], x % 5 + 10 * (y % 3) + 100 * (z % 2))
    np.testing.assert_array_equal(out[..., 1], x // 5 + 10 * (y // 3) + 100 * (z // 2))
    assert (out[..., 2] == 235).all() and (out[..., 3] == 223).all()
    assert (out[..., 4] == 15 + 600 + 40_000).all()
    np.testing.assert_array_equal(out[..., 5], (x % 5 + 5 * (y % 3) + 15 * (z % 2)) % 32)


class Pair(NamedTuple):
    values: np.ndarray
    factor: np.float32


@register_jitable
def pick(values, at):
    table = cuda.local.array(2, float32)
    table[0] = values[at]
    return table[0]


@cuda.jit(device=True)
def double(x):
    return x + x


@cuda.jit
def with_functions(pair, out, factors):
    i = cuda.grid(1)
    if i < out.shape[0]:
        place = (i,)
        out[place] = double(pick(pair.values, i)) * pair.factor * float32(factors[0])
        cuda.atomic.add(out, i, float32(cuda.const.array_like(SCALE)[1]))


@pytest.mark.slow
def test_functions_named_tuples_and_constants():
    values, out = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    native(with_functions)[2, 32](Pair(values, np.float32(0.5)), out, (3, 4))
    np.testing.assert_allclose(out, values * 3 + 5)


@cuda.jit
def wraps(out):
    out[0] = uint32(0xFFFFFFFF) + uint32(2)
    out[1] = int32(7) // int32(-2)


def test_integers_wrap():
    out = np.zeros(2, np.int32)
    native(wraps)[1, 1](out)
    np.testing.assert_array_equal(out, [1, -4])


# ---------------------------------------------------------------- atomics


@cuda.jit
def all_atomics(floats, integers, unsigned):
    i = cuda.grid(1)
    cuda.atomic.add(floats, 0, float32(1))
    cuda.atomic.sub(floats, 1, float32(2))
    cuda.atomic.max(floats, 2, float32(i))
    cuda.atomic.min(floats, 3, -float32(i))
    cuda.atomic.add(integers, (0, 1), 3)
    cuda.atomic.max(integers, (1, 0), i)
    cuda.atomic.min(integers, (1, 1), -i)
    cuda.atomic.or_(unsigned, 0, 1 << (i % 16))
    cuda.atomic.and_(unsigned, 1, ~(1 << (i % 8)))
    cuda.atomic.xor(unsigned, 2, i)
    cuda.atomic.inc(unsigned, 3, 6)
    cuda.atomic.dec(unsigned, 4, 6)
    cuda.atomic.cas(unsigned, 5, 0, 99)
    cuda.atomic.exch(unsigned, 6, 55)
    unsigned[8 + cuda.atomic.add(unsigned, 7, 1)] = i


@pytest.mark.slow
def test_atomics_from_many_blocks():
    blocks, threads = 64, 128
    n = blocks * threads
    floats, integers = np.zeros(4, np.float32), np.zeros((2, 2), np.int64)
    unsigned = np.zeros(8 + n, np.uint32)
    unsigned[1] = 0xFFFF
    native(all_atomics)[blocks, threads](floats, integers, unsigned)
    np.testing.assert_array_equal(floats, [n, -2 * n, n - 1, 1 - n])
    np.testing.assert_array_equal(integers, [[0, 3 * n], [n - 1, 1 - n]])
    expected = [0xFFFF, 0xFF00, 0, n % 7, (7 - n % 7) % 7, 99, 55, n]
    np.testing.assert_array_equal(unsigned[:8], expected)
    np.testing.assert_array_equal(np.sort(unsigned[8:]), np.arange(n))


# ---------------------------------------------------------------- checked indices


@cuda.jit
def no_guard(values, out):
    x, y = cuda.grid(2)
    out[y, x] = values[y, x]  # here


@cuda.jit
def negative(values, out):
    i = cuda.grid(1)
    out[0, i] = values[0, i - 1]  # here


@cuda.jit
def atomic_outside(values, out):
    cuda.atomic.add(out, (0, cuda.grid(1) + 3), values[0, 0])  # here


@register_jitable
def read(values, i):
    return values[0, i + 6]  # here


@cuda.jit
def outside_in_a_function(values, out):
    out[0, 0] = read(values, cuda.grid(1))


@cuda.jit
def outside_a_tile(values, out):
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = values[0, 0]
    cuda.syncthreads()
    out[0, 0] = tile[y, x + 1]  # here


@pytest.mark.parametrize(
    "kernel, block, words",
    [
        (no_guard, (8, 4), "index 7 of values, axis 1, is not below 7; thread (7, 0, 0) of block"),
        (negative, 4, "index -1 of values, axis 1, is negative; thread (0, 0, 0)"),
        (atomic_outside, 5, "index 7 of out, axis 1, is not below 7; thread (4, 0, 0)"),
        (outside_in_a_function, 2, "index 7 of values, axis 1"),
        (outside_a_tile, (TILE, 2), "index 16 of tile, axis 1, is not below 16; thread (15, 0, 0)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_indices_are_checked(kernel, block, words):
    values, out = np.ones((4, 7), np.float32), np.zeros((4, 7), np.float32)
    with pytest.raises(IndexError) as caught:
        native(kernel)[1, block](values, out)
    line = line_of_comment(read if kernel is outside_in_a_function else kernel)
    assert f"test_native.py, line {line}: {words}" in str(caught.value)


def test_checks_can_be_switched_off():
    buffer = np.zeros(10, np.float32).reshape(1, 10)
    native(no_guard, bounds_check=False)[1, 8](np.ones((1, 8), np.float32), buffer[:, :7])
    np.testing.assert_array_equal(buffer[0], [1] * 8 + [0] * 2)


# ---------------------------------------------------------------- refusals and bad calls


@cuda.jit
def sized_at_run_time(out):
    tile = cuda.shared.array(cuda.blockDim.x, float32)  # here
    tile[0] = out[0]


def raw(x):
    raise NotImplementedError


raw.emulation = raw


@cuda.jit
def uses_a_raw_instruction(out):
    out[0] = raw(out[0])  # here


@pytest.mark.parametrize(
    "kernel, words",
    [(sized_at_run_time, "`cuda.blockDim.x`"), (uses_a_raw_instruction, "the raw instruction raw")],
)
def test_what_cannot_be_done_is_refused(kernel, words):
    line = line_of_comment(kernel)
    with pytest.raises(NativeRefusal) as caught:
        native(kernel)[1, 1](np.zeros(1, np.float32))
    assert words in str(caught.value) and f"line {line}" in str(caught.value)
    assert "\n" not in str(caught.value)


@cuda.jit
def does_not_compile(out):
    i = cuda.grid(1)
    out[i] = out.nonsense  # here


def test_compile_errors_name_the_line():
    with pytest.raises(NativeCompileError) as caught:
        native(does_not_compile)[1, 1](np.zeros(1, np.float32))
    assert f"test_native.py, line {line_of_comment(does_not_compile)}:" in str(caught.value)
    assert "nonsense" in str(caught.value) and "\n" not in str(caught.value)


def test_bad_calls_are_explained():
    with pytest.raises(ValueError, match="1,024"):
        native(no_guard)[1, (64, 32)](np.zeros((1, 1)), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="grid must be at least 1"):
        native(no_guard)[0, 1]
    with pytest.raises(TypeError, match=r"takes 2 arguments \(values, out\), but 1 were given"):
        native(no_guard)[1, 1](np.zeros((1, 1)))


# ---------------------------------------------------------------- Ctrl-C


@cuda.jit
def endless(out):
    while out[0] == 0:
        out[1] += 1


@cuda.jit
def endless_with_a_barrier(out):
    while out[0] == 0:
        out[1] += 1
        cuda.syncthreads()


@pytest.mark.parametrize(
    "kernel", [pytest.param(endless, marks=pytest.mark.slow), endless_with_a_barrier]
)
def test_an_interrupt_ends_a_launch_and_its_threads(kernel):
    # A program that runs in the background may have been told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt(kernel)
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt(kernel):
    native(kernel)[1, 1](np.ones(2))  # compiled before: the launch is to be interrupted
    threading.Timer(0.3, _thread.interrupt_main).start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        native(kernel)[2, 2](np.zeros(2))
        time.sleep(10)
    assert time.perf_counter() - begin < 5
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("native")]


PAIR = np.dtype([("n", np.int32), ("ends", np.float64, 2)], align=True)


@cuda.jit
def parts_of_elements(out):
    pairs = cuda.local.array(2, PAIR)
    pairs[1]["n"] = 3
    pairs[1].ends[1] = 4.0
    out[0] = (lambda number: number + pairs[1].ends[1])(pairs[1].n)


def test_a_store_into_a_part_of_an_element_stays_beside_an_inner_function():
    out = np.zeros(1)
    native(parts_of_elements)[1, 1](out)
    assert out[0] == 7
