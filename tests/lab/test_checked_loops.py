"""Loops over arrays and tuples: threads that have left a loop read nothing any more."""

import numpy as np
import pytest
from numba import cuda, float32, int32
from numba.extending import register_jitable

from lessons.lab.simulator.run import checked_run
from tests.lab.helpers import clean, problems

SIZE = 8
STEPS = (1, 2, 4)


def stops():
    """(32,) int32: how many elements each thread looks at, 0 to 8."""
    return np.arange(32, dtype=np.int32) % (SIZE + 1)


@cuda.jit
def breaks(values, stops, out):
    i = cuda.grid(1)
    total, count = float32(0), 0
    for value in values:
        if count == stops[i]:
            break
        total += value
        count += 1
    out[i] = total


@cuda.jit
def continues(values, stops, out):
    i = cuda.grid(1)
    total, count = float32(0), 0
    for value in values:
        count += 1
        if count > stops[i]:
            continue
        total += value
    out[i] = total


@cuda.jit
def returns(values, stops, out):
    i = cuda.grid(1)
    out[i] = 0
    count = 0
    for value in values:
        if count == stops[i]:
            return
        out[i] += value
        count += 1


@register_jitable
def sum_until(values, stop):
    total, count = float32(0), 0
    for value in values:
        if count == stop:
            return total
        total += value
        count += 1
    return total


@cuda.jit
def returns_from_a_function(values, stops, out):
    i = cuda.grid(1)
    out[i] = sum_until(values, stops[i])


@pytest.mark.parametrize("kernel", [breaks, continues, returns, returns_from_a_function])
@pytest.mark.parametrize("schedule", [None, ["reverse", 1]])
def test_each_thread_leaves_a_loop_over_an_array_when_it_likes(kernel, schedule):
    values, out = np.arange(1, SIZE + 1, dtype=np.float32), np.full(32, 99, np.float32)
    report = checked_run(kernel, 1, 32, values, stops(), out, schedule=schedule)
    clean(report)
    np.testing.assert_array_equal(out, [values[:stop].sum() for stop in stops()])


@cuda.jit
def one_goes_on(values, out):
    i = cuda.grid(1)
    for value in values:
        if i > 0:
            break
        out[0] = value
    if i == 0:
        values[1] = float32(-1)  # which nobody else has read


@cuda.jit
def one_does_not_return(values, out):
    i = cuda.grid(1)
    for value in values:
        if i > 0:
            return
        out[0] = value
    values[1] = float32(-1)


@cuda.jit
def one_goes_further_than_the_others(values, out):
    i = cuda.grid(1)
    count = 0
    for value in values:
        if count == i:
            break
        out[i] = value
        count += 1
    if i == 31:
        values[31] = float32(-1)  # thread 30 left before element 31


@register_jitable
def first_above(values, limit):
    for value in values:
        if value > limit:
            return value
    return float32(0)


@cuda.jit
def one_searches_longer(values, out):
    i = cuda.grid(1)
    limit = float32(20) if i == 0 else float32(0)
    out[i] = first_above(values, limit)
    if i == 0:
        values[2] = float32(-1)  # the others have found theirs in element 1


KERNELS = [one_goes_on, one_does_not_return, one_goes_further_than_the_others, one_searches_longer]


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_that_left_a_loop_read_nothing_any_more(kernel):
    values, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    report = checked_run(kernel, 1, 32, values, out)
    clean(report)
    assert (values == -1).sum() == 1


def test_threads_that_left_a_loop_are_not_counted_as_readers():
    values, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    report = checked_run(one_goes_on, 1, 32, values, out)
    traffic = next(t for t in report.traffic.values() if t.text == "for value in values:")
    assert traffic.reads == 32 + 31  # element 0 by all threads, the others by thread 0


@cuda.jit
def writes_what_others_read(values, out):
    i = cuda.grid(1)
    for value in values:
        if i == 0:
            break
        out[i] = value
    if i == 0:
        values[5] = float32(-1)


def test_a_race_with_threads_that_go_on_is_found():
    values, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    report = checked_run(writes_what_others_read, 1, 32, values, out)
    assert {finding.kind for finding in problems(report)} == {"race"}
    assert "values[5]" in problems(report)[0].message


@cuda.jit
def loops_over_a_tuple(out):
    i = cuda.grid(1)
    total = int32(0)
    for step in STEPS:
        if step > i:
            break
        if step == 2:
            continue
        total += int32(step)
    else:
        total += int32(100)
    out[i] = total


def test_a_loop_over_a_tuple_with_break_continue_and_else():
    out = np.zeros(6, np.int32)
    report = checked_run(loops_over_a_tuple, 1, 6, out)
    clean(report)
    np.testing.assert_array_equal(out, [0, 1, 1, 1, 105, 105])


@cuda.jit
def loops_over_rows(image, out):
    for row in image:
        out[0] += row[1]


def test_a_loop_over_rows():
    out = np.zeros(1, np.float32)
    image = np.arange(6, dtype=np.float32).reshape(3, 2)
    clean(checked_run(loops_over_rows, 1, 1, image, out))
    assert out[0] == 1 + 3 + 5


@cuda.jit
def over_a_list(values, out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array(32, float32)
    tile[i] = values[i]
    for step in [1, 2, 4, 8, 16]:  # Numba makes no list of it
        cuda.syncthreads()
        if i % (2 * step) == 0:
            tile[i] += tile[i + step]
    if i == 0:
        out[0] = tile[0]


def test_a_loop_over_a_list_that_is_written_out():
    values, out = np.arange(32, dtype=np.float32), np.zeros(1, np.float32)
    clean(checked_run(over_a_list, 1, 32, values, out))
    assert out[0] == values.sum()
