"""The checked simulator finds races, and results that depend on the order of threads."""

import numpy as np
from numba import cuda, float32

from lessons.lab import checked_run
from tests.lab.helpers import clean, expect, floats, problems


@cuda.jit
def neighbour_with_syncwarp(values, out):
    thread = cuda.threadIdx.x
    values[thread] = float32(thread)
    cuda.syncwarp()
    out[thread] = values[thread ^ 1]


def test_syncwarp_puts_a_warp_in_order_and_nobody_else():
    clean(checked_run(neighbour_with_syncwarp, 1, 32, floats(32), floats(32)))


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
def sum_in_order_of_arrival(values, total):
    cuda.atomic.add(total, 0, values[cuda.grid(1)])


@cuda.jit
def sum_in_order_of_threads(values, total):
    if cuda.grid(1) == 0:
        for i in range(values.shape[0]):
            total[0] += values[i]


def test_sums_that_differ_by_rounding_are_told_apart_when_asked():
    for kernel, same_bits, kinds in (
        (sum_in_order_of_arrival, False, []),
        (sum_in_order_of_arrival, True, ["order"]),
        (sum_in_order_of_threads, True, []),
    ):
        total = np.zeros(1, np.float32)
        orders = {"schedule": ["reverse"], "same_bits": same_bits}
        report = checked_run(kernel, 4, 64, floats(256), total, **orders)
        assert [finding.kind for finding in problems(report)] == kinds, report
    report = checked_run(
        in_order_of_arrival, 2, 32, np.zeros(1, np.int32), np.zeros(64, np.int32),
        schedule=7, same_bits=True,
    )  # fmt: skip
    assert [finding.kind for finding in problems(report)] == ["order"]


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


@cuda.jit
def cells_by_blocks(cells):
    height, width = cells.shape
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(first, height * width, cuda.blockDim.x):
        row, column = divmod(cell, width)
        for _ in range(2):
            cells[row, column] = float32(0.5) * cells[row, column]  # here


@cuda.jit
def tiles_that_overlap(out):
    base = cuda.blockIdx.x * cuda.blockDim.x
    for i in range(cuda.threadIdx.x, 40, cuda.blockDim.x):
        out[base + i] = out[base + i] + float32(1)  # here


def test_a_cell_made_of_the_number_that_goes_on_by_a_block():
    report = checked_run(cells_by_blocks, 2, 32, np.ones((9, 7), np.float32))
    expect(cells_by_blocks, "race", report, "goes on by the threads of one block")
    report = checked_run(tiles_that_overlap, 2, 32, np.ones(80, np.float32))
    assert "one block, so" not in "".join(found.message for found in problems(report))
    assert problems(report)


@cuda.jit
def row_by_everybody(values, out):
    tile = cuda.shared.array((4, 8), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(8):
        tile[y, i] = float32(0)
        tile[y, i] = values[y, i]  # here
    cuda.syncthreads()
    out[y, x] = tile[3 - y, x]


def test_what_several_threads_store_is_for_one_of_them_and_no_barrier_helps():
    report = checked_run(row_by_everybody, 1, (8, 4), floats(4, 8), np.zeros((4, 8), np.float32))
    words = "differ in threadIdx.x only", "let one of them store it"
    found = expect(row_by_everybody, "race", report, *words)
    assert "put cuda.syncthreads()" not in found[0].message


@cuda.jit
def the_rest_is_zero(values, out):
    i = cuda.grid(1)
    if i >= values.shape[0]:
        out[values.shape[0] - 1] = 0
        return
    out[i] = values[i]  # here


def test_threads_that_return_behind_a_store_need_no_barrier():
    report = checked_run(the_rest_is_zero, 1, 32, floats(20), np.zeros(20, np.float32))
    found = expect(the_rest_is_zero, "race", report, "whose element is it")
    assert "syncthreads" not in found[0].message


@cuda.jit
def own_numbers_in_one_place(out):
    tile = cuda.shared.array(8, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[x] = float32(y)  # here
    cuda.syncthreads()
    out[y, x] = tile[x]


def test_a_hint_about_an_axis_is_a_sentence_of_its_own():
    report = checked_run(own_numbers_in_one_place, 1, (8, 4), np.zeros((4, 8), np.float32))
    words = "one for all threads of its block", "store. The two threads differ in threadIdx.y only"
    expect(own_numbers_in_one_place, "race", report, *words)


@cuda.jit
def barrier_in_some_rounds(values, rounds):
    tile = cuda.shared.array((2, 8), float32)
    x = cuda.threadIdx.x
    tile[0, x] = values[x]
    for r in range(rounds):
        if r % 2 == 0:
            cuda.syncthreads()
        for i in range(1):
            tile[1 - r % 2, x + i] = tile[r % 2, 7 - x] + float32(1)  # here
    values[x] = tile[rounds % 2, x]


def test_a_barrier_that_some_rounds_leave_out_is_named():
    report = checked_run(barrier_in_some_rounds, 1, 8, floats(8), 2)
    expect(barrier_in_some_rounds, "race", report, "only in some of its rounds", "the `if`")


@cuda.jit
def old_count_stored(counts):
    counts[0] = cuda.atomic.add(counts, 0, 1)  # here


def test_the_old_value_that_an_atomic_returns_is_not_to_be_stored():
    report = checked_run(old_count_stored, 2, 32, np.zeros(1, np.int32))
    expect(old_count_stored, "race", report, "the value of before: leave out the assignment")


STEP = 16


@cuda.jit
def buffers_that_take_no_turns(values, out):
    tiles = cuda.shared.array((2, 64), float32)
    thread = cuda.threadIdx.x
    rows = out.shape[0]
    total = float32(0)
    for start in range(0, 4 * STEP, STEP):
        now = start % 2
        tiles[now, thread] = values[start % rows] + out[thread]  # here
        cuda.syncthreads()
        total += tiles[now, 63 - thread]
    out[thread] = total


@cuda.jit
def copied_back(values):
    old = cuda.shared.array(64, float32)
    new = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    old[thread] = values[thread]
    cuda.syncthreads()
    for _ in range(3):
        new[thread] = old[thread] - old[63 - thread]
        cuda.syncthreads()
        old[thread] = new[thread]
    values[thread] = old[thread]


def test_two_buffers_that_never_take_turns_are_told():
    report = checked_run(buffers_that_take_no_turns, 1, 64, floats(64), floats(64))
    expect(buffers_that_take_no_turns, "race", report, "`now` is the same", "steps of 16")


def test_no_second_array_is_asked_for_where_there_are_two():
    found = problems(checked_run(copied_back, 1, 64, floats(64)))
    assert "a second cuda.syncthreads() at the end" in found[0].message
    assert "second array" not in found[0].message
