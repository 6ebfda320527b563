"""What the checked simulator says of an index outside its array: why its threads come there."""

import numpy as np
import pytest
from numba import cuda, int32

from lessons.lab import checked_run

ROWS, COLUMNS = 9, 14
GRID, BLOCK = (1, 1), (16, 16)


@cuda.jit
def indices_exchanged(out):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    out[x, y] = 1


@cuda.jit
def joined_with_and(out):
    x, y = cuda.grid(2)
    if x >= out.shape[1] and y >= out.shape[0]:
        return
    out[y, x] = 1


@cuda.jit
def one_too_late(out):
    x, y = cuda.grid(2)
    if x > out.shape[1] or y > out.shape[0]:
        return
    out[y, x] = 1


@cuda.jit
def only_to_the_right(out):
    x, y = cuda.grid(2)
    if x >= out.shape[1]:
        return
    out[y, x] = 1


@cuda.jit
def stops_only_one(out):
    x, y = cuda.grid(2)
    if x == out.shape[1] or y == out.shape[0]:
        return
    out[y, x] = 1


@cuda.jit
def one_index_for_two(out):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    out[y * out.shape[1] + x] = 1


@cuda.jit
def taken_apart_by_height(out):
    x, y = cuda.grid(2)
    height, width = out.shape
    if x >= width or y >= height:
        return
    number = y * height + x
    row = number // height
    out[row, number % height] = 1


@cuda.jit
def taken_apart_by_divmod(out):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    row, column = divmod(y * out.shape[1] + x, out.shape[0])
    out[row, column] = 1


@cuda.jit
def no_guard_at_all(out):
    x, y = cuda.grid(2)
    out[y, x] = 1


@cuda.jit
def far_below(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x - 200] = 1


@cuda.jit
def left_of_the_edge(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x - 1] = 1


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (indices_exchanged, "Are two indices exchanged?"),
        (indices_exchanged, "Or the guard compares each with the length of the other"),
        (joined_with_and, "Is the `and` of line 24 meant to be `or`?"),
        (one_too_late, "`>` where it must be `>=`"),
        (only_to_the_right, "Along axis 1 a guard stops such threads; along axis 0 it is missing"),
        (stops_only_one, "`==` where it must be `>=`"),
        (one_index_for_two, "It has 2 dimensions: give an index for each"),
        (taken_apart_by_height, "with `height`, which is 9, the number of rows"),
        (taken_apart_by_divmod, "with `out.shape[0]`, which is 9, the number of rows"),
        (far_below, "which of the numbers that it is made of is too small?"),
        (left_of_the_edge, "Keep it inside with max(index, 0)"),
        (no_guard_at_all, "Is a guard such as `if i >= n: return` missing"),
    ],
)
def test_why_an_index_is_outside(kernel, words):
    picture = np.zeros((ROWS, COLUMNS), np.int32)
    report = checked_run(kernel, GRID, BLOCK, picture, negative=False)
    problem = report.problems[0]
    assert problem.kind == "out-of-bounds" and words in problem.message


@cuda.jit
def one_channel_too_many(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        for channel in range(4):
            out[y, x, channel] = 1


@pytest.mark.slow
def test_a_third_index_outside_is_no_exchange_of_the_first_two():
    report = checked_run(one_channel_too_many, GRID, BLOCK, np.zeros((16, 16, 3), np.int32))
    message = report.problems[0].message
    assert "axis 2" in message and "does a loop go on for too long?" in message
    assert "exchanged" not in message


@cuda.jit
def product_with_too_many_rounds(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        for i in range(c.shape[1]):
            c[y, x] += a[y, i] * b[i, x]


def test_a_loop_that_goes_on_for_too_long_is_told_though_an_exchange_would_fit():
    a, b, c = (np.zeros(shape, np.int32) for shape in ((5, 7), (7, 9), (5, 9)))
    report = checked_run(product_with_too_many_rounds, GRID, BLOCK, a, b, c)
    assert len(report.problems) == 2
    assert all("does a loop go on for too long?" in one.message for one in report.problems)


@cuda.jit
def along_a_row_of_b(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        for i in range(c.shape[1]):
            c[y, x] += b[x, i]


def test_no_guard_is_blamed_for_the_index_of_a_loop():
    a, b, c = (np.zeros(shape, np.int32) for shape in ((5, 7), (7, 9), (5, 9)))
    message = checked_run(along_a_row_of_b, GRID, BLOCK, a, b, c).problems[0].message
    assert "Are two indices exchanged?" in message and "guard" not in message


@cuda.jit
def last_two_exchanged(out):
    x, y = cuda.grid(2)
    if x < out.shape[2] and y < out.shape[1]:
        out[0, x, y] = 1


def test_the_last_two_of_three_indices_may_be_exchanged():
    report = checked_run(last_two_exchanged, GRID, BLOCK, np.zeros((2, ROWS, COLUMNS), np.int32))
    assert "Are two indices exchanged?" in report.problems[0].message


@cuda.jit
def not_written_yet(out):
    raise NotImplementedError("write me")


def test_threads_that_end_in_an_exception_are_a_problem():
    report = checked_run(not_written_yet, 1, 8, np.zeros(8, np.int32))
    (problem,) = report.problems
    assert problem.kind == "raised" and "('write me')` in thread 0 of block 0" in problem.message


@cuda.jit
def begins_too_late(numbers, out):
    x = cuda.threadIdx.x
    offset = numbers.shape[0]
    for layer in range(2):
        cuda.syncthreads()
        out[x] = numbers[offset + layer * 16 + x]


def test_where_even_the_first_thread_is_outside_no_guard_is_missing():
    numbers, out = np.zeros(64, np.int32), np.zeros(16, np.int32)
    message = checked_run(begins_too_late, 1, 16, numbers, out).problems[0].message
    assert "Even the first thread is outside: which of the numbers" in message
    assert message.endswith("In the first of these threads, offset = 64, layer = 0 and x = 0.")
    assert "guard" not in message


@cuda.jit
def own_array_by_the_grid(out):
    tile = cuda.shared.array(8, int32)
    i = cuda.grid(1)
    tile[i] = i
    cuda.syncthreads()
    out[i] = tile[i]


@cuda.jit
def own_array_that_is_too_small(out):
    tile = cuda.shared.array(4, int32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = i
    cuda.syncthreads()
    out[i] = tile[cuda.threadIdx.x]


@pytest.mark.parametrize(
    ("kernel", "counts"), [(own_array_by_the_grid, True), (own_array_that_is_too_small, False)]
)
def test_an_array_of_the_block_is_indexed_over_all_blocks(kernel, counts):
    message = checked_run(kernel, 2, 8, np.zeros(16, np.int32)).problems[0].message
    assert ("The index counts over blocks" in message) == counts
    assert ("as large as its threads need" in message) != counts


@cuda.jit
def stored_in_longer_rows(out):
    tile = cuda.shared.array(20, int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[5 * y + x] = x
    cuda.syncthreads()
    out[y, x] = tile[4 * y + x]


def test_a_hole_in_shared_memory_is_no_missing_barrier():
    message = checked_run(stored_in_longer_rows, 1, (4, 4), np.zeros((4, 4), np.int32)).problems[0]
    assert "tile[3] and tile[5] are written: is it stored at other places" in str(message)
    assert "barrier" not in str(message)


@cuda.jit
def channels_come_first(image, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        reds = image[0]
        out[y, x] = reds[y, x]


@cuda.jit
def row_without_a_guard(image, out):
    x, y = cuda.grid(2)
    if y < out.shape[0]:
        row = image[y]
        out[y, 0] = row[x, 0]


@pytest.mark.parametrize(
    ("kernel", "name", "words"),
    [
        (channels_come_first, "reds", "should the number that is the first index now be the last?"),
        (row_without_a_guard, "row", "Is a guard such as `if i >= n: return` missing"),
    ],
)
def test_a_part_of_an_array_is_told_by_its_own_name_and_shape(kernel, name, words):
    image, out = (np.zeros(shape, np.int32) for shape in ((ROWS, COLUMNS, 3), (ROWS, COLUMNS)))
    message = checked_run(kernel, GRID, BLOCK, image, out).problems[0].message
    assert f"(`{name}` is a part of image, whose shape is (9, 14, 3))" in message
    assert f"{name}[" in message and "is outside its shape (14, 3)" in message
    assert words in message and ("guard" in words) == ("guard" in message)
