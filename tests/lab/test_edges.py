"""What NaN and sizes near 2**31 must not hide."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, int32

from lessons.lab import checked_run
from tests.lab.helpers import clean, problems

NEAR = 2**31 - 5


@cuda.jit
def two_write_one(values, out):
    i = cuda.grid(1)
    out[i // 2] = values[i]


@cuda.jit
def all_write_the_same(values, out):
    out[0] = values[0]


def test_nan_hides_no_race():
    values, out = np.full(64, np.nan, np.float32), np.zeros(32, np.float32)
    report = checked_run(two_write_one, 2, 32, values, out)
    assert {finding.kind for finding in problems(report)} == {"race"}
    clean(checked_run(all_write_the_same, 2, 32, values, out))


@cuda.jit
def grid_stride(values, total):
    for i in range(int32(cuda.grid(1)), values.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(total, 0, values[i])


def test_only_some_blocks_run():
    values, total = np.broadcast_to(np.float32(1), 4000), np.zeros(1, np.float32)
    clean(checked_run(grid_stride, 5, 64, values, total, only_blocks=range(2, 4)))
    visited = [len(range(first, 4000, 320)) for first in range(128, 256)]
    assert total[0] == sum(visited)
    for wrong in (range(0), range(3, 6), range(0, 4, 2), range(-1, 2)):
        with pytest.raises(ValueError, match="no range of the blocks"):
            checked_run(grid_stride, 5, 64, values, total, only_blocks=wrong)
    with pytest.raises(ValueError, match="need all blocks"):
        checked_run(grid_stride, 5, 64, values, total, only_blocks=range(2), record=True)


def test_the_index_of_a_loop_overflows_in_the_last_block():
    values, total = np.broadcast_to(np.float32(1), 2**35 + 1), np.zeros(1, np.float32)
    blocks = 2**23 + 1
    last = range(blocks - 1, blocks)
    report = checked_run(grid_stride, blocks, 256, values, total, only_blocks=last, negative=False)
    assert {finding.kind for finding in problems(report)} == {"overflow", "out-of-bounds"}
    assert "thread 0 of block 8388608" in problems(report)[0].message


@cuda.jit
def wide_index(values, first, out):
    i = cuda.grid(1) + first
    if i < values.shape[0]:
        out[cuda.grid(1)] = values[i]


@cuda.jit
def narrow_index(values, first, out):
    i = int32(cuda.grid(1) + first)
    if i < values.shape[0]:
        out[cuda.grid(1)] = values[i]


@pytest.mark.parametrize("schedule", [None, "reverse"])
def test_an_array_of_more_than_two_to_the_31(schedule):
    values = np.broadcast_to(np.float32(3), (2**31 + 10,))
    out = np.zeros(32, np.float32)
    clean(checked_run(wide_index, 1, 32, values, NEAR, out, schedule=schedule))
    np.testing.assert_array_equal(out, [3] * 15 + [0] * 17)
    report = checked_run(narrow_index, 1, 32, values, NEAR, out, negative=False)
    assert [f.kind for f in problems(report)] == ["overflow", "out-of-bounds"]
    assert "thread 5 of block 0" in problems(report)[0].message


class Pair(NamedTuple):
    """Arrays that a kernel is called with."""

    first: np.ndarray
    last: np.ndarray


@cuda.jit
def whoever_comes_first(pair):
    pair.first[cuda.grid(1)] = cuda.atomic.exch(pair.last, 0, cuda.grid(1))


def test_arrays_in_tuples_depend_on_the_order_of_threads_as_others_do():
    pair = Pair(np.zeros(32, np.int32), np.zeros(1, np.int32))
    report = checked_run(whoever_comes_first, 1, 32, pair, schedule="reverse")
    assert {(f.kind, f.array) for f in problems(report)} == {
        ("order", "pair.first"),
        ("order", "pair.last"),
    }


@cuda.jit
def leaves_if_both(values, out):
    x, y = cuda.grid(2)
    if x >= out.shape[0] and y >= out.shape[1]:
        return
    out[x, y] = values[x, y]


@cuda.jit
def stays_if_either(values, out):
    x, y = cuda.grid(2)
    if x < out.shape[0] or y < out.shape[1]:
        out[x, y] = values[x, y]


@cuda.jit
def has_no_guard(values, out):
    x, y = cuda.grid(2)
    if out.shape[0] > 3 or out.shape[1] > 3:
        out[x, y] = values[x, y]


@cuda.jit
def looks_at_a_border_first(values, out):
    x, y = cuda.grid(2)
    weight = float32(1)
    if x < 3 or y < 3:
        weight = float32(0.5)
    if y < out.shape[1]:
        out[x, y] = weight * values[x, y]


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (looks_at_a_border_first, ""),
        (leaves_if_both, "the `and` of line"),
        (stays_if_either, "the `or` of line"),
        (has_no_guard, ""),
    ],
)
def test_a_guard_that_joins_its_conditions_with_the_wrong_word(kernel, says):
    values = np.zeros((20, 20), np.float32)
    found = problems(checked_run(kernel, (2, 2), (16, 16), values, values.copy()))
    assert {finding.kind for finding in found} == {"out-of-bounds"}
    assert all(("of line" in finding.message) == bool(says) for finding in found)
    assert all(says in finding.message for finding in found)
