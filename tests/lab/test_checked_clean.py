"""The checked simulator on right kernels: nothing is found, and the result is right."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, int32, uint32, uint64
from numba.extending import register_jitable

from lessons.lab import checked, checked_run, native
from tests.lab.helpers import block_sum, clean, floats, problems, three_dimensions

TILE = 16


# ---------------------------------------------------------------- right kernels


def test_reduction():
    values, total = floats(2000), np.zeros(1, np.float32)
    clean(checked_run(block_sum, 8, 256, values, total, schedule=["reverse", 1, 2, 3]))
    np.testing.assert_allclose(total, values.astype(np.float64).sum(), rtol=1e-5)


@cuda.jit
def tiled_matmul(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[row, column] = (
            a[y, first + column] if y < a.shape[0] and first + column < a.shape[1] else float32(0)
        )
        b_tile[row, column] = (
            b[first + row, x] if first + row < b.shape[0] and x < b.shape[1] else float32(0)
        )
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[row, k] * b_tile[k, column]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_tiled_matmul():
    a, b, c = floats(21, 35), floats(35, 18, seed=1), np.full((21, 18), 9, np.float32)
    clean(checked_run(tiled_matmul, (2, 2), (TILE, TILE), a, b, c, schedule=[5, "reverse"]))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-5)


def test_three_dimensional_grid():
    out = np.zeros((3, 5, 7), np.int32)
    clean(checked_run(three_dimensions, (2, 3, 2), (4, 2, 2), out))
    z, y, x = np.mgrid[:3, :5, :7]
    np.testing.assert_array_equal(out, z * 100 + y * 10 + x)


@cuda.jit(device=True)
def twice(x):
    return x + x


@register_jitable
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


class Pair(NamedTuple):
    source: np.ndarray
    factor: np.float32


@cuda.jit
def with_functions(pair, out):
    i = cuda.grid(1)
    if i >= out.shape[0]:
        return
    out[i] = clamp(twice(pair.source[i]) * pair.factor, float32(-1), float32(0.5))


def test_device_functions_and_named_tuples():
    source, out = floats(50), np.zeros(50, np.float32)
    clean(checked_run(with_functions, 2, 32, Pair(source, np.float32(1.5)), out))
    np.testing.assert_allclose(out, np.clip(source * 3, -1, 0.5), rtol=1e-6)


@cuda.jit
def count_and_continue(values, out):
    i = cuda.grid(1)
    if i >= values.shape[0]:
        return
    count = 0
    for j in range(values[i]):
        if j % 2 == 0:
            continue
        if j > 9:
            break
        count += j
    while count > 5:
        count -= 5
    out[i] = count


def test_uneven_loops_with_break_and_continue():
    values, out = np.arange(40, dtype=np.int32) % 17, np.zeros(40, np.int32)
    clean(checked_run(count_and_continue, 2, 32, values, out))
    expected = []
    for value in values:
        count = sum(j for j in range(min(value, 11)) if j % 2)
        while count > 5:
            count -= 5
        expected.append(count)
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def votes(values, out):
    i = cuda.grid(1)
    positive = values[i] > float32(0)
    out[0, i] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, positive))
    out[1, i] = cuda.all_sync(0xFFFFFFFF, positive)
    out[2, i] = cuda.any_sync(0xFFFFFFFF, positive)
    out[3, i] = cuda.shfl_sync(0xFFFFFFFF, cuda.laneid, 5)
    out[4, i] = cuda.shfl_up_sync(0xFFFFFFFF, cuda.laneid, 1)
    out[5, i] = cuda.shfl_xor_sync(0xFFFFFFFF, cuda.laneid, 3)
    out[6, i] = cuda.syncthreads_count(1 if positive else 0)
    out[7, i] = cuda.syncthreads_and(1 if positive else 0)
    out[8, i] = cuda.syncthreads_or(1 if positive else 0)


@pytest.mark.parametrize("schedule", [None, ["reverse", 1]])
def test_votes_and_counting_barriers(schedule):
    values, out = floats(128, seed=4), np.zeros((9, 128), np.int32)
    values[:32] = 1
    clean(checked_run(votes, 2, 64, values, out, schedule=schedule))
    lane, warps = np.arange(128) % 32, (values > 0).reshape(4, 32)
    np.testing.assert_array_equal(out[0], np.repeat(warps.sum(axis=1), 32))
    np.testing.assert_array_equal(out[1], np.repeat(warps.all(axis=1), 32))
    np.testing.assert_array_equal(out[2], np.repeat(warps.any(axis=1), 32))
    np.testing.assert_array_equal(out[3], 5)
    np.testing.assert_array_equal(out[4], np.maximum(lane - 1, 0))
    np.testing.assert_array_equal(out[5], lane ^ 3)
    blocks = (values > 0).reshape(2, 64)
    np.testing.assert_array_equal(out[6], np.repeat(blocks.sum(axis=1), 64))
    np.testing.assert_array_equal(out[7], np.repeat(blocks.all(axis=1), 64))
    np.testing.assert_array_equal(out[8], np.repeat(blocks.any(axis=1), 64))


@cuda.jit
def all_atomics(out, integers):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, float32(i))
    cuda.atomic.max(out, 1, float32(i))
    cuda.atomic.min(out, 2, -float32(i))
    cuda.atomic.sub(integers, 0, i)
    cuda.atomic.or_(integers, 1, 1 << (i % 8))
    cuda.atomic.and_(integers, 2, ~(1 << (i % 4)))
    cuda.atomic.xor(integers, 3, i)
    cuda.atomic.inc(integers, 4, 9)
    cuda.atomic.cas(integers, 5, 0, 77)
    integers[8 + i] = cuda.atomic.add(integers, 6, 2)


def test_atomics():
    out, integers = np.zeros(3, np.float32), np.zeros(8 + 64, np.uint32)
    integers[2] = 255
    clean(checked_run(all_atomics, 2, 32, out, integers))
    np.testing.assert_array_equal(out, [2016, 63, -63])
    np.testing.assert_array_equal(integers[:7], [2**32 - 2016, 255, 240, 0, 64 % 10, 77, 128])
    np.testing.assert_array_equal(np.sort(integers[8:]), np.arange(0, 128, 2))


@cuda.jit
def take_the_lock(mutex, counter):
    taken = False
    while not taken:
        if cuda.atomic.cas(mutex, 0, 0, 1) == 0:
            cuda.atomic.add(counter, 0, 1)
            cuda.atomic.exch(mutex, 0, 0)
            taken = True


@cuda.jit
def spin_for_the_lock(mutex, counter):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    cuda.atomic.add(counter, 0, 1)
    cuda.atomic.exch(mutex, 0, 0)


@pytest.mark.parametrize("kernel", [take_the_lock, spin_for_the_lock])
def test_locks_that_work_on_a_gpu_work_here(kernel):
    mutex, counter = np.zeros(1, np.int32), np.zeros(1, np.int32)
    clean(checked_run(kernel, 2, 5, mutex, counter))
    assert (counter[0], mutex[0]) == (10, 0)


TABLE = np.arange(10, dtype=np.float32) * 2


@cuda.jit
def local_and_constant(out):
    table = cuda.const.array_like(TABLE)
    mine = cuda.local.array((2, 3), float32)
    i = cuda.grid(1)
    for row in range(2):
        for column in range(3):
            mine[row, column] = table[i] + float32(row * 3 + column)
    total = float32(0)
    for row in range(2):
        for column in range(3):
            total += mine[row, column]
    out[i] = total


def test_local_and_constant_arrays():
    out = np.zeros(10, np.float32)
    clean(checked_run(local_and_constant, 1, 10, out))
    np.testing.assert_array_equal(out, TABLE * 6 + 15)


@cuda.jit
def rows_and_slices(image, out):
    i = cuda.grid(1)
    row = image[i]
    tail = image[i, 2:]
    total = float32(0)
    for x in range(row.shape[0]):
        total += row[x]
    for x in range(len(tail)):
        total += tail[x]
    out[i] = total


def test_rows_and_slices():
    image, out = floats(6, 5), np.zeros(6, np.float32)
    clean(checked_run(rows_and_slices, 1, 6, image, out))
    np.testing.assert_allclose(out, image.sum(axis=1) + image[:, 2:].sum(axis=1), atol=1e-6)


@cuda.jit
def arrays_by_name(out):
    tile = cuda.shared.array(dtype=float32, shape=(4, 8))
    mine = cuda.local.array(2, dtype=float32)
    mine[1] = float32(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = mine[1]
    cuda.syncthreads()
    out[cuda.threadIdx.y, cuda.threadIdx.x] = tile[3 - cuda.threadIdx.y, cuda.threadIdx.x]


@pytest.mark.slow
def test_arguments_by_name():
    out = np.zeros((4, 8), np.float32)
    clean(checked_run(arrays_by_name, 1, (8, 4), out))
    assert (out == 2).all()
    out[:] = 0
    native(arrays_by_name)[1, (8, 4)](out)
    assert (out == 2).all()


@cuda.jit(device=True)
def reverse_tile(values, tile, out):
    i = cuda.threadIdx.x
    tile[i] = values[i]
    cuda.syncthreads()
    out[i] = tile[31 - i]


@cuda.jit
def all_by_name(values, out):
    i = cuda.grid(ndim=1)
    reverse_tile(out=out, tile=cuda.shared.array(32, float32), values=values)
    next_value = cuda.shfl_down_sync(mask=-1, value=out[i], delta=1)
    out[i] += next_value * cuda.syncthreads_count(predicate=1)


@pytest.mark.slow
def test_a_function_with_a_barrier_and_shuffles_take_arguments_by_name():
    values, out = floats(32), np.zeros(32, np.float32)
    backwards = values[::-1]
    right = backwards + 32 * np.append(backwards[1:], backwards[31])
    clean(checked_run(all_by_name, 1, 32, values, out))
    np.testing.assert_allclose(out, right, rtol=1e-6)
    native(all_by_name)[1, 32](values, out)
    np.testing.assert_allclose(out, right, rtol=1e-6)


@pytest.mark.parametrize("run", [checked, native])
def test_a_launch_takes_its_arguments_by_position_as_on_a_gpu(run):
    with pytest.raises(TypeError, match=r"by position.*give out without a name"):
        run(all_by_name)[1, 32](floats(32), out=floats(32))


def test_arrays_that_are_views_are_written_in_place():
    base = np.zeros((8, 6), np.int32)
    clean(checked_run(three_dimensions, 1, (3, 4), base[1:5, 1:4].reshape(1, 4, 3)))
    strided = np.zeros((1, 8, 6), np.int32)
    clean(checked_run(three_dimensions, 1, (3, 4), strided[:, ::2, ::2]))
    y, x = np.mgrid[:4, :3]
    np.testing.assert_array_equal(strided[0, ::2, ::2], y * 10 + x)
    assert strided.sum() == (y * 10 + x).sum()


def test_repeated_runs_are_the_same_to_the_last_bit():
    results = []
    for _ in range(2):
        total = np.zeros(1, np.float32)
        report = checked_run(block_sum, 8, 256, floats(2000), total, schedule=[1, 2])
        results.append((total.tobytes(), [str(f) for f in report.findings], report.table()))
    assert results[0] == results[1]


# ---------------------------------------------------------------- arithmetic as on the GPU


@cuda.jit
def arithmetic(out32, out64, single):
    i = cuda.grid(1)
    out32[0, i] = uint32(0xFFFFFFFF) + uint32(i)
    out32[1, i] = uint32(0x12345678) * uint32(0x9ABCDEF0)
    out64[0, i] = uint64(0xFFFFFFFFFFFFFFFF) + uint64(i)
    out64[1, i] = uint64(0xFFFFFFFF) * uint64(0xFFFFFFFF)
    out64[2, i] = uint64(1) << uint64(40)
    single[0, i] = float32(1) / float32(3)
    single[1, i] = float32(16777216) + float32(1)
    single[2, i] = math.sqrt(float32(2))
    single[3, i] = float32(int32(-7) // int32(2))
    single[4, i] = float32(int32(-7) % int32(3))


def test_integers_wrap_and_floats_round_to_single():
    out32, out64 = np.zeros((2, 4), np.uint32), np.zeros((3, 4), np.uint64)
    single = np.zeros((5, 4), np.float32)
    clean(checked_run(arithmetic, 1, 4, out32, out64, single))
    np.testing.assert_array_equal(out32[0], [0xFFFFFFFF, 0, 1, 2])
    assert (out32[1] == 0x12345678 * 0x9ABCDEF0 % 2**32).all()
    np.testing.assert_array_equal(out64[0], np.array([2**64 - 1, 0, 1, 2], np.uint64))
    assert (out64[1] == 0xFFFFFFFF**2).all() and (out64[2] == 2**40).all()
    expected = [np.float32(1 / 3), 16777216, np.sqrt(np.float32(2)), -4, 2]
    np.testing.assert_array_equal(single[:, 0], np.array(expected, np.float32))


# ---------------------------------------------------------------- raw instructions


def add_pairs(value):
    """A made-up warp instruction: each lane gets its value plus that of lane ^ 1."""
    return value + value.reshape(-1, 16, 2)[:, :, ::-1].reshape(-1, 32)


@cuda.jit(device=True)
def raw_add_pairs(value):
    return value  # this would be inline PTX


raw_add_pairs.emulation = add_pairs


def load_vector(array, first):
    return tuple(array[first + k] for k in range(4))


@cuda.jit(device=True)
def raw_load_vector(array, first):
    return array[first], array[first], array[first], array[first]  # so would this


raw_load_vector.emulation = load_vector


@cuda.jit
def uses_raw_instructions(values, out):
    i = cuda.grid(1)
    a, b, c, d = raw_load_vector(values, i * 4)
    out[i] = raw_add_pairs(a + b + c + d)


@pytest.mark.parametrize("schedule", [None, ["reverse", 2]])
def test_raw_instructions_run_as_their_emulations(schedule):
    values, out = floats(256), np.zeros(64, np.float32)
    clean(checked_run(uses_raw_instructions, 1, 64, values, out, schedule=schedule))
    sums = values.reshape(64, 4).sum(axis=1)
    np.testing.assert_allclose(out, sums + sums.reshape(32, 2)[:, ::-1].ravel(), atol=1e-6)
    report = checked_run(uses_raw_instructions, 1, 64, values[:250], out)
    assert {f.kind for f in problems(report)} == {"out-of-bounds"}


# ---------------------------------------------------------------- functions that no thread calls


@cuda.jit(device=True)
def larger_half(x):
    if x > 4:
        cuda.syncthreads()
        return x / 2
    total = 0
    for k in range(x):
        total += k
    return float32(total)


@cuda.jit
def calls_for_nobody(out):
    i = cuda.grid(1)
    out[i] = 1 if i > 900 and larger_half(i) > 3 else 0
    out[i] += 2 if i > 900 > larger_half(i) > 3 or i >= 0 else 0
    out[i] += (larger_half(i) if i > 900 else i) // 2


def test_a_function_that_no_thread_calls_has_a_type():
    out = np.zeros(8)
    clean(checked_run(calls_for_nobody, 1, 8, out))
    np.testing.assert_array_equal(out, 2 + np.arange(8) // 2)


@cuda.jit(device=True)
def sum_of_pair(row):
    first, second = row
    return first + second


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@cuda.jit
def rows_for_nobody(rows, out):
    i = cuda.grid(1)
    row = rows[i]
    while i > 900 and sum_of_pair(row) > 0:
        out[i] = 1
    if i > 900 and (row.sum() > 0 or max(row[0], row[1]) > 0):
        out[i] = 2
    out[i] += 1 if i < 900 or sum_of_pair(row) == 3 else factorial(i)
    out[i] += sum_of_pair(rows[i])


def test_arrays_of_which_no_thread_takes_an_element():
    out = np.zeros(8)
    clean(checked_run(rows_for_nobody, 1, 8, np.ones((8, 2), np.float32), out))
    assert (out == 3).all()
