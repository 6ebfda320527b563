"""The checked simulator: right kernels run clean and give the right result; each bug is found.

Every kernel here is small enough to see what is wrong with it. The expected line is found by the
comment `# here` on it.
"""

import inspect
import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, float64, int32, uint32, uint64
from numba.extending import register_jitable

from kernels.errors import InputError
from lessons.lab import native
from lessons.lab.simulator.run import checked_run, launch

TILE = 16
WIDTH = 8
NUMPY_SIZE = np.int64(16)


class Options:
    tile = 16


options = Options()


def floats(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def line_of_comment(kernel):
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", kernel)
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if "# here" in line)


def problems(report):
    return [finding for finding in report.findings if not finding.advice]


def expect(kernel, kind, report, *words):
    """Exactly one kind of problem was found, on the marked line, in these words."""
    found = problems(report)
    assert found, "nothing was found"
    assert {finding.kind for finding in found} == {kind}, report
    assert not report.ok
    assert line_of_comment(kernel) in [finding.line for finding in found], report
    text = " ".join(finding.message for finding in found)
    for word in words:
        assert word in text, report
    return found


def clean(report):
    assert report.ok and problems(report) == [], report


# ---------------------------------------------------------------- right kernels


@cuda.jit
def block_sum(values, total):
    partial = cuda.shared.array(256, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[thread] = values[i] if i < values.shape[0] else float32(0)
    active = cuda.blockDim.x // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            partial[thread] += partial[thread + active]
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial[0])


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


@cuda.jit
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    if x < out.shape[2] and y < out.shape[1] and z < out.shape[0]:
        out[z, y, x] = z * 100 + y * 10 + x


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
def warp_sum(values, out):
    i = cuda.grid(1)
    value = values[i]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        out[i // 32] = value


def test_shuffles():
    values, out = floats(128), np.zeros(4, np.float32)
    clean(checked_run(warp_sum, 2, 64, values, out, schedule=["reverse", 3]))
    np.testing.assert_allclose(out, values.reshape(4, 32).sum(axis=1), atol=1e-5)


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
    out[6, i] = cuda.syncthreads_count(positive)
    out[7, i] = cuda.syncthreads_and(positive)
    out[8, i] = cuda.syncthreads_or(positive)


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
def reverse_across_the_grid(values, middle, out):
    i = cuda.grid(1)
    middle[i] = values[i]
    cuda.cg.this_grid().sync()
    out[i] = middle[values.shape[0] - 1 - i]


def test_grid_barrier_over_several_blocks():
    values, middle, out = floats(96), np.zeros(96, np.float32), np.zeros(96, np.float32)
    clean(
        checked_run(reverse_across_the_grid, 3, 32, values, middle, out, schedule=["reverse", 1, 2])
    )
    np.testing.assert_array_equal(out, values[::-1])


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


@cuda.jit
def arrays_by_name(out):
    tile = cuda.shared.array(dtype=float32, shape=(4, 8))
    mine = cuda.local.array(2, dtype=float32)
    mine[1] = float32(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = mine[1]
    cuda.syncthreads()
    out[cuda.threadIdx.y, cuda.threadIdx.x] = tile[3 - cuda.threadIdx.y, cuda.threadIdx.x]


def test_arguments_by_name():
    out = np.zeros((4, 8), np.float32)
    clean(checked_run(arrays_by_name, 1, (8, 4), out))
    assert (out == 2).all()
    out[:] = 0
    native(arrays_by_name)[1, (8, 4)](out)
    assert (out == 2).all()


def test_rows_and_slices():
    image, out = floats(6, 5), np.zeros(6, np.float32)
    clean(checked_run(rows_and_slices, 1, 6, image, out))
    np.testing.assert_allclose(out, image.sum(axis=1) + image[:, 2:].sum(axis=1), atol=1e-6)


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


# ---------------------------------------------------------------- races


@cuda.jit
def missing_barrier(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]
    out[thread] = tile[63 - thread]  # here


def test_race_in_shared_memory():
    report = checked_run(missing_barrier, 1, 64, floats(64), np.zeros(64, np.float32))
    found = expect(
        missing_barrier, "race", report, "tile[63]", "thread 0 ", "thread 63 ", "syncthreads"
    )
    assert f"line {line_of_comment(missing_barrier) - 1}" in found[0].message


@cuda.jit
def missing_second_barrier(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for first in range(0, values.shape[0], 64):
        tile[thread] = values[first + thread]  # here
        cuda.syncthreads()
        total += tile[63 - thread]
    out[thread] = total


def test_race_of_a_write_after_a_read():
    report = checked_run(missing_second_barrier, 1, 64, floats(128), np.zeros(64, np.float32))
    expect(missing_second_barrier, "race", report, "writes", "reads")


@cuda.jit
def neighbour_in_the_warp(values):
    thread = cuda.threadIdx.x
    values[thread] = float32(thread)
    if thread < 31:
        values[thread] += values[thread + 1]  # here


def test_race_inside_a_warp():
    report = checked_run(neighbour_in_the_warp, 1, 32, floats(32))
    expect(neighbour_in_the_warp, "race", report, "syncwarp", "values[")


@cuda.jit
def neighbour_with_syncwarp(values, out):
    thread = cuda.threadIdx.x
    values[thread] = float32(thread)
    cuda.syncwarp()
    out[thread] = values[thread ^ 1]


def test_syncwarp_puts_a_warp_in_order_and_nobody_else():
    clean(checked_run(neighbour_with_syncwarp, 1, 32, floats(32), floats(32)))


@cuda.jit
def across_warps_with_syncwarp(values, out):
    thread = cuda.threadIdx.x
    values[thread] = float32(thread)
    cuda.syncwarp()
    out[thread] = values[63 - thread]  # here


def test_syncwarp_does_not_reach_other_warps():
    report = checked_run(across_warps_with_syncwarp, 1, 64, floats(64), floats(64))
    expect(across_warps_with_syncwarp, "race", report)


@cuda.jit
def across_blocks(values, out):
    i = cuda.grid(1)
    values[i] = float32(i)
    cuda.syncthreads()
    out[i] = values[values.shape[0] - 1 - i]  # here


def test_race_across_blocks():
    report = checked_run(across_blocks, 2, 32, floats(64), floats(64))
    expect(across_blocks, "race", report, "of block 0", "of block 1", "does not reach across")


@cuda.jit
def lost_updates(total):
    total[0] += float32(1) + float32(cuda.grid(1))  # here


def test_plain_add_to_one_element():
    report = checked_run(lost_updates, 2, 32, np.zeros(1, np.float32))
    expect(lost_updates, "race", report, "total[0]", "atomic")


@cuda.jit
def mixed(total, out):
    i = cuda.grid(1)
    cuda.atomic.add(total, 0, 1)
    out[i] = total[0]  # here


def test_mixed_atomic_and_plain_access():
    report = checked_run(mixed, 1, 64, np.zeros(1, np.int32), np.zeros(64, np.int32))
    expect(mixed, "race", report, "atomic")


@cuda.jit
def same_value(flag, values):
    if values[cuda.grid(1)] > float32(0):
        flag[0] = 1


def test_threads_that_store_the_same_value_are_fine():
    flag = np.zeros(1, np.int32)
    clean(checked_run(same_value, 2, 32, flag, floats(64)))
    assert flag[0] == 1


@cuda.jit
def shift_in_place(source, out):
    i = cuda.grid(1)
    if i + 1 < source.shape[0]:
        out[i] = source[i + 1]  # here


def test_race_between_two_names_for_the_same_memory():
    values = floats(64)
    expect(shift_in_place, "race", checked_run(shift_in_place, 1, 64, values, values))
    overlapping = floats(80)
    report = checked_run(shift_in_place, 1, 64, overlapping[:64], overlapping[10:74])
    expect(shift_in_place, "race", report)


# ---------------------------------------------------------------- out of bounds, uninitialised


@cuda.jit
def no_guard(values, out):
    i = cuda.grid(1)
    out[i] = values[i]  # here


def test_out_of_bounds():
    out = np.zeros(50, np.float32)
    report = checked_run(no_guard, 2, 32, floats(50), out)
    expect(
        no_guard,
        "out-of-bounds",
        report,
        "values[50]",
        "out[50]",
        "thread 18 of block 1",
        "13 more",
    )


@cuda.jit
def negative(values, out):
    i = cuda.grid(1)
    out[i] = values[i - 1]  # here


def test_negative_index():
    report = checked_run(negative, 1, 32, floats(32), np.zeros(32, np.float32))
    expect(negative, "out-of-bounds", report, "values[-1]", "negative", "thread 0 of block 0")


@cuda.jit
def past_the_tile(out):
    tile = cuda.shared.array((4, 8), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[x, y] = float32(1)  # here
    out[y, x] = float32(0)


def test_out_of_bounds_in_shared_memory_within_the_block():
    report = checked_run(past_the_tile, 1, (8, 4), np.zeros((4, 8), np.float32))
    expect(past_the_tile, "out-of-bounds", report, "tile[4, 0]", "thread (4, 0)")


@cuda.jit
def unwritten_shared(out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    if thread < 60:
        tile[thread] = float32(thread)
    cuda.syncthreads()
    out[thread] = tile[thread]  # here


def test_uninitialised_shared_memory():
    report = checked_run(unwritten_shared, 1, 64, np.zeros(64, np.float32))
    expect(unwritten_shared, "uninitialised", report, "tile[60]", "thread 60")


@cuda.jit
def unwritten_local(out):
    totals = cuda.local.array(4, float32)
    for k in range(3):
        totals[k] = float32(0)
    totals[3] += float32(1)  # here
    out[cuda.grid(1)] = totals[3]


def test_uninitialised_local_memory():
    report = checked_run(unwritten_local, 1, 32, np.zeros(32, np.float32))
    expect(unwritten_local, "uninitialised", report, "totals[3]")


@cuda.jit
def unassigned_variable(out):
    i = cuda.grid(1)
    if i > 3:
        value = float32(1)
    out[i] = value  # here


def test_a_variable_assigned_on_one_path_only():
    report = checked_run(unassigned_variable, 1, 32, np.zeros(32, np.float32))
    expect(
        unassigned_variable, "uninitialised", report, "`value`", "thread 0 of block 0 and 3 more"
    )


# ---------------------------------------------------------------- barriers, deadlock, endless


@cuda.jit
def leaves_early(values, out):
    tile = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    if i >= values.shape[0]:
        return
    tile[cuda.threadIdx.x] = values[i]
    cuda.syncthreads()  # here
    out[i] = tile[0]


def test_threads_that_return_before_a_barrier():
    report = checked_run(leaves_early, 2, 32, floats(50), np.zeros(50, np.float32))
    found = expect(leaves_early, "barrier", report, "has returned in line", "thread 18 of block 1")
    assert f"line {found[0].line - 2}" in found[0].message


@cuda.jit
def branches_around(out):
    thread = cuda.threadIdx.x
    if thread < 16:
        out[thread] = float32(1)
        cuda.syncthreads()  # here


def test_threads_that_branch_around_a_barrier():
    report = checked_run(branches_around, 1, 32, np.zeros(32, np.float32))
    expect(branches_around, "barrier", report, "thread 16", "another way at the `if`")


@cuda.jit
def two_barriers(out):
    thread = cuda.threadIdx.x
    if thread < 32:
        out[thread] = float32(1)
        cuda.syncthreads()  # here
    else:
        cuda.syncthreads()
        out[thread] = float32(2)


@pytest.mark.parametrize("schedule", [None, [1]])
def test_barriers_at_different_lines(schedule):
    report = checked_run(two_barriers, 1, 64, np.zeros(64, np.float32), schedule=schedule)
    line = line_of_comment(two_barriers)
    expect(two_barriers, "barrier", report, "a different barrier", f"line {line + 2}")


@cuda.jit
def uneven_rounds(out):
    thread = cuda.threadIdx.x
    for _ in range(thread // 8):
        cuda.syncthreads()  # here
    out[thread] = float32(1)


def test_barrier_in_a_loop_that_some_threads_leave_earlier():
    report = checked_run(uneven_rounds, 1, 32, np.zeros(32, np.float32))
    expect(uneven_rounds, "barrier", report, "has left the loop")


@register_jitable
def meet_inside(thread):
    if thread < 4:
        cuda.syncthreads()


@cuda.jit
def barrier_in_a_function(out):
    meet_inside(cuda.threadIdx.x)
    out[cuda.threadIdx.x] = float32(1)


def test_barrier_in_a_branch_of_a_device_function():
    report = checked_run(barrier_in_a_function, 1, 32, np.zeros(32, np.float32))
    assert [f.kind for f in problems(report)] == ["barrier"]
    assert "meet_inside" in report.findings[0].message


@cuda.jit
def grid_barrier_for_some(out):
    if cuda.blockIdx.x == 0:
        cuda.cg.this_grid().sync()  # here
    out[cuda.grid(1)] = float32(1)


def test_deadlock_at_a_grid_barrier():
    report = checked_run(grid_barrier_for_some, 2, 32, np.zeros(64, np.float32))
    expect(grid_barrier_for_some, "deadlock", report, "of block 1")


@cuda.jit
def waits_for_nobody(flag, out):
    while cuda.atomic.add(flag, 0, 0) == 0:  # here
        pass
    out[cuda.grid(1)] = 1


def test_deadlock_of_threads_that_wait_for_a_flag():
    report = checked_run(waits_for_nobody, 1, 32, np.zeros(1, np.int32), np.zeros(32, np.int32))
    expect(waits_for_nobody, "deadlock", report, "no other thread changes it")


@cuda.jit
def lock_never_released(mutex, out):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:  # here
        pass
    out[cuda.grid(1)] = 1


def test_deadlock_of_a_lock_that_nobody_gives_back():
    report = checked_run(lock_never_released, 1, 4, np.zeros(1, np.int32), np.zeros(4, np.int32))
    expect(lock_never_released, "deadlock", report)


@cuda.jit
def never_ends(out):
    i = 0
    while i < 10:  # here
        out[cuda.grid(1)] = i


def test_endless_loop():
    report = checked_run(never_ends, 1, 32, np.zeros(32, np.int32))
    expect(never_ends, "endless", report, "i < 10")


@cuda.jit
def takes_ages(out):
    for i in range(1_000_000_000):  # here
        out[cuda.grid(1)] = i


def test_a_loop_over_the_budget():
    report = checked_run(takes_ages, 1, 32, np.zeros(32, np.int32), budget=1000)
    expect(takes_ages, "endless", report, "budget")


# ---------------------------------------------------------------- limits, order


def test_block_over_the_hardware_limit():
    report = checked_run(three_dimensions, 1, (64, 32), np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"] and "2,048" in report.findings[0].message
    report = checked_run(three_dimensions, 1, (1, 1, 65), np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"]
    report = checked_run(three_dimensions, (1, 65536), 1, np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"]


@cuda.jit
def too_much_shared(out):
    first = cuda.shared.array((64, 128), float32)
    second = cuda.shared.array((64, 128), float32)  # here
    first[0, 0] = second[0, 0] = out[0] = float32(0)


def test_shared_memory_over_the_hardware_limit():
    report = checked_run(too_much_shared, 1, 1, np.zeros(1, np.float32))
    expect(too_much_shared, "limits", report, "65,536")


@cuda.jit
def in_order_of_arrival(counter, out):
    i = cuda.grid(1)
    place = cuda.atomic.add(counter, 0, 1)
    out[place] = i


def test_result_that_depends_on_the_order_of_threads():
    arrays = np.zeros(1, np.int32), np.zeros(64, np.int32)
    clean(checked_run(in_order_of_arrival, 2, 32, *(a.copy() for a in arrays)))
    for schedule in ("reverse", 7):
        report = checked_run(
            in_order_of_arrival, 2, 32, *(a.copy() for a in arrays), schedule=schedule
        )
        assert [f.kind for f in problems(report)] == ["order"]
        assert "out[0] is 0, but" in report.findings[-1].message


@cuda.jit
def depends_on_the_grid(out):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < out.shape[0]:
        out[i] = step
        i += step


@cuda.jit
def grid_stride(out):
    i = cuda.grid(1)
    while i < out.shape[0]:
        out[i] = i
        i += cuda.gridsize(1)


def test_two_grid_shapes_that_give_different_answers():
    shapes = [(2, 16), (4, 32)]
    report = checked_run(depends_on_the_grid, 1, 32, np.zeros(100, np.int32), other_shapes=shapes)
    assert [f.kind for f in problems(report)] == ["order"]
    assert "grid of 4" in report.findings[-1].message
    clean(checked_run(grid_stride, 1, 32, np.zeros(100, np.int32), other_shapes=shapes))


# ---------------------------------------------------------------- what would not compile


@cuda.jit
def calls_numpy(out):
    values = np.zeros(3)  # here
    out[0] = values[0]


@cuda.jit
def comprehends(out):
    squares = [i * i for i in range(3)]  # here
    out[0] = squares[1]


@cuda.jit
def size_from_the_launch(out):
    tile = cuda.shared.array(cuda.blockDim.x, float32)  # here
    tile[0] = out[0]


@cuda.jit
def size_from_an_object(out):
    tile = cuda.shared.array(options.tile, float32)  # here
    tile[0] = out[0]


@cuda.jit
def size_from_an_expression(out):
    tile = cuda.shared.array((TILE, TILE + 1), float32)  # here
    tile[0, 0] = out[0]


@cuda.jit
def size_from_numpy(out):
    tile = cuda.shared.array(NUMPY_SIZE, float32)  # here
    tile[0] = out[0]


@cuda.jit
def uses_an_object(out):
    out[0] = options.tile  # here


@cuda.jit
def makes_a_list(out):
    values = [1, 2]  # here
    out[0] = values[0]


@cuda.jit
def catches(out):
    try:  # here
        out[0] = 1
    except ValueError:
        out[0] = 2


@cuda.jit
def misspells(out):
    out[0] = cuda.threadIndex.x  # here


@cuda.jit
def forgets_a_name(out):
    out[0] = undefined_name  # noqa: F821  # here


@cuda.jit
def returns_a_value(out):
    out[0] = 1
    return out[0]  # here


@cuda.jit
def whole_array(out):
    out[0] = out.sum()  # here


@cuda.jit
def numpy_root(out):
    out[0] = np.sqrt(out[1])  # here


@cuda.jit
def float_index(out):
    out[cuda.grid(1) / 2] = 1  # here


@cuda.jit
def slices_assigned(out):
    out[0:2] = float32(1)  # here


def test_findings_of_kind_compile():
    for kernel, word in [
        (calls_numpy, "NumPy call"),
        (comprehends, "comprehension"),
        (size_from_the_launch, "cuda.blockDim.x"),
        (size_from_an_object, "options.tile"),
        (size_from_an_expression, "TILE + 1"),
        (size_from_numpy, "int64"),
        (uses_an_object, "Options"),
        (makes_a_list, "lists"),
        (catches, "exceptions"),
        (misspells, "threadIndex"),
        (forgets_a_name, "undefined_name"),
        (returns_a_value, "cannot return"),
        (whole_array, "loop"),
        (numpy_root, "math.sqrt"),
        (slices_assigned, "every index"),
    ]:
        expect(kernel, "compile", checked_run(kernel, 1, 1, floats(16)), word)
    report = checked_run(float_index, 1, 4, floats(16))
    assert {f.kind for f in problems(report)} == {"compile", "slow"}


def test_compile_findings_need_no_thread_that_comes_there():
    report = checked_run(numpy_on_a_path_not_taken, 1, 4, floats(16))
    expect(numpy_on_a_path_not_taken, "compile", report)


@cuda.jit
def numpy_on_a_path_not_taken(out):
    if out.shape[0] > 1000:
        out[0] = np.mean(out)  # here


# ---------------------------------------------------------------- what would be slow


@cuda.jit
def double_literal(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * 0.3 + values[i]  # here


@cuda.jit
def double_accumulator(values, out):
    total = 0.0
    for k in range(4):
        total += values[k]  # here
    out[cuda.grid(1)] = total


@cuda.jit
def integer_accumulator(values, out):
    total = 0
    for k in range(4):
        total += values[k]  # here
    out[cuda.grid(1)] = total


@cuda.jit
def integer_times_float(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * i  # here


@cuda.jit
def divides_integers(values, out):
    i = cuda.grid(1)
    out[i] = i / 3  # here


@cuda.jit
def float64_tile(values, out):
    tile = cuda.local.array(4, float64)  # here
    tile[0] = values[0]
    out[cuda.grid(1)] = tile[0]


def test_findings_of_kind_slow():
    for kernel, word in [
        (double_literal, "float32(0.3)"),
        (double_accumulator, "`total` is a double"),
        (integer_accumulator, "`total` is a whole number"),
        (integer_times_float, "float32(i)"),
        (divides_integers, "float32(i) / float32(3)"),
        (float64_tile, "float64"),
    ]:
        report = checked_run(kernel, 1, 16, floats(16), np.zeros(16, np.float32))
        expect(kernel, "slow", report, word)


def test_float64_arrays_are_slow():
    report = checked_run(no_guard, 1, 16, np.zeros(16), np.zeros(16, np.float32))
    assert [f.kind for f in problems(report)] == ["slow"] and "values" in report.findings[0].message


def test_a_python_float_argument_is_a_double():
    report = checked_run(scaled, 1, 16, floats(16), 0.1)
    expect(scaled, "slow", report, "`factor` is a double")
    clean(checked_run(scaled, 1, 16, floats(16), np.float32(0.1)))


@cuda.jit
def scaled(values, factor):
    i = cuda.grid(1)
    values[i] = values[i] * factor  # here


def test_signed_indices_are_advice_only():
    report = checked_run(no_guard, 1, 32, floats(32), np.zeros(32, np.float32))
    assert report.ok and [(f.kind, f.advice) for f in report.findings] == [("slow", True)]
    assert "uint32" in report.findings[0].message


@cuda.jit
def unsigned_copy(values, out):
    i = uint32(cuda.grid(1))
    if i < uint32(values.shape[0]):
        out[i] = values[i]


def test_unsigned_indices_get_no_advice():
    report = checked_run(unsigned_copy, 1, 32, floats(30), np.zeros(30, np.float32))
    assert report.findings == []


# ---------------------------------------------------------------- twins of raw instructions


def add_pairs(value):
    """A made-up warp instruction: each lane gets its value plus that of lane ^ 1."""
    return value + value.reshape(-1, 16, 2)[:, :, ::-1].reshape(-1, 32)


def raw_add_pairs(value):
    raise NotImplementedError("this would be inline PTX")


raw_add_pairs.emulation = add_pairs


def load_vector(array, first):
    return tuple(array[first + k] for k in range(4))


def raw_load_vector(array, first):
    raise NotImplementedError("this would be inline PTX")


raw_load_vector.emulation = load_vector


@cuda.jit
def uses_raw_instructions(values, out):
    i = cuda.grid(1)
    a, b, c, d = raw_load_vector(values, i * 4)
    out[i] = raw_add_pairs(a + b + c + d)


@pytest.mark.parametrize("schedule", [None, ["reverse", 2]])
def test_raw_instructions_run_as_their_twins(schedule):
    values, out = floats(256), np.zeros(64, np.float32)
    clean(checked_run(uses_raw_instructions, 1, 64, values, out, schedule=schedule))
    sums = values.reshape(64, 4).sum(axis=1)
    np.testing.assert_allclose(out, sums + sums.reshape(32, 2)[:, ::-1].ravel(), atol=1e-6)
    report = checked_run(uses_raw_instructions, 1, 64, values[:250], out)
    assert {f.kind for f in problems(report)} == {"out-of-bounds"}


# ---------------------------------------------------------------- measuring


@cuda.jit
def strided_copy(source, out):
    i = cuda.grid(1)
    out[i] = source[i * 8]


def traffic_on(report, line):
    return next(t for (_, number), t in report.traffic.items() if number == line)


def test_sectors_and_efficiency():
    report = checked_run(strided_copy, 1, 64, np.zeros(512, np.float32), np.zeros(64, np.float32))
    traffic = next(iter(report.traffic.values()))
    assert (traffic.reads, traffic.writes, traffic.requests) == (64, 64, 4)
    assert traffic.sectors == 2 * (32 + 4)
    assert (traffic.sectors_a_request, traffic.efficiency) == (18, 512 / (72 * 32))
    table = report.table()
    assert "sectors/request" in table and "out[i] = source[i * 8]" in table


@cuda.jit
def bank_conflicts(out):
    tile = cuda.shared.array((32, 32), float32)
    thread = cuda.threadIdx.x
    for k in range(32):
        tile[k, thread] = float32(k)
    cuda.syncthreads()
    total = float32(0)
    for k in range(32):
        total += tile[thread, k]  # here
    out[thread] = total


def test_bank_conflicts():
    report = checked_run(bank_conflicts, 1, 32, np.zeros(32, np.float32))
    traffic = traffic_on(report, line_of_comment(bank_conflicts))
    assert (traffic.shared_requests, traffic.shared_passes, traffic.worst_conflict) == (
        32,
        1024,
        32,
    )
    assert traffic_on(report, line_of_comment(bank_conflicts) - 4).worst_conflict == 1


@cuda.jit
def counts_atomics(out):
    thread = cuda.threadIdx.x
    if thread % 2 == 0:  # here
        cuda.atomic.add(out, thread // 8, float32(1))


def test_atomic_multiplicity_and_divergence():
    report = checked_run(counts_atomics, 1, 64, np.zeros(8, np.float32))
    line = line_of_comment(counts_atomics)
    assert (traffic_on(report, line).branches, traffic_on(report, line).divergent) == (2, 2)
    traffic = traffic_on(report, line + 1)
    assert (traffic.atomics, traffic.atomic_multiplicity) == (32, 4)


def test_picture(tmp_path):
    report = checked_run(block_sum, 2, 8, floats(13), np.zeros(1, np.float32), record=True)
    assert {event.array for event in report.events} == {"values", "partial", "total"}
    assert max(event.phase for event in report.events) == 3
    report.picture(tmp_path / "accesses.png")
    assert (tmp_path / "accesses.png").read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------- bad calls


def test_wrong_arguments_are_explained():
    with pytest.raises(TypeError, match="takes 2 arguments .values, out., but 1 were given"):
        checked_run(no_guard, 1, 32, floats(32))
    with pytest.raises(TypeError, match="argument values is a list"):
        checked_run(no_guard, 1, 32, [1, 2], floats(32))
    with pytest.raises(ValueError, match="block must be at least 1"):
        checked_run(no_guard, 1, 0, floats(32), floats(32))
    with pytest.raises(ValueError, match="grid must be whole numbers"):
        checked_run(no_guard, 1.5, 32, floats(32), floats(32))
    with pytest.raises(ValueError, match="a schedule is"):
        checked_run(no_guard, 1, 32, floats(32), floats(32), schedule="sideways")
    with pytest.raises(InputError, match="is not a kernel"):
        checked_run(3, 1, 32, floats(32))
    namespace = {"cuda": cuda}
    exec("def kernel(a):\n    a[0] = 1", namespace)
    with pytest.raises(InputError, match="source of kernel cannot be read"):
        checked_run(namespace["kernel"], 1, 1, floats(1))


def test_the_strict_launcher_raises_what_it_found():
    with pytest.raises(InputError, match="out-of-bounds"):
        launch(no_guard, 2, 32, floats(50), np.zeros(50, np.float32))
    launch(no_guard, 1, 32, floats(32), np.zeros(32, np.float32))
