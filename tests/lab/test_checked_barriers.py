"""The checked simulator finds barriers that threads miss, deadlocks, and loops that never end."""

import numpy as np
import pytest
from numba import cuda, float32
from numba.extending import register_jitable

from lessons.lab import checked_run
from tests.lab.helpers import expect, floats, line_of_comment, problems


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
def breaks_before_a_barrier(out):
    thread = cuda.threadIdx.x
    for _ in range(2):
        if thread >= 16:
            break
        cuda.syncthreads()  # here
        out[thread] = float32(1)


@cuda.jit
def skips_a_barrier(out):
    thread = cuda.threadIdx.x
    for i in range(2):
        if thread >= 16 and i == 1:
            continue
        cuda.syncthreads()  # here
        out[thread] = float32(1)


@pytest.mark.parametrize(
    ("kernel", "word"), [(breaks_before_a_barrier, "break"), (skips_a_barrier, "continue")]
)
def test_threads_that_jump_over_a_barrier(kernel, word):
    report = checked_run(kernel, 1, 32, np.zeros(32, np.float32))
    line = line_of_comment(kernel) - 1
    way_back = f"under an `if`, in place of the `{word}`"
    expect(kernel, "barrier", report, f"by the `{word}` of line {line}", way_back)


@cuda.jit
def barrier_in_a_function(out):
    meet_inside(cuda.threadIdx.x)
    out[cuda.threadIdx.x] = float32(1)


def test_barrier_in_a_branch_of_a_device_function():
    report = checked_run(barrier_in_a_function, 1, 32, np.zeros(32, np.float32))
    assert [f.kind for f in problems(report)] == ["barrier"]
    assert "meet_inside" in report.findings[0].message


@register_jitable
def leave_before(thread):
    if thread >= 4:
        return
    cuda.syncthreads()


@cuda.jit
def barrier_behind_a_return(out):
    leave_before(cuda.threadIdx.x)
    out[cuda.threadIdx.x] = float32(1)


def test_barrier_behind_a_return_of_a_device_function():
    report = checked_run(barrier_behind_a_return, 1, 32, np.zeros(32, np.float32))
    assert [f.kind for f in problems(report)] == ["barrier"]
    assert "has returned from leave_before in line" in report.findings[0].message
    assert "in place of the `return`" in report.findings[0].message


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
    flag, out = np.zeros(1, np.int32), np.zeros(2, np.int32)
    report = checked_run(waits_for_nobody, 1, 2, flag, out, measure=False)
    expect(waits_for_nobody, "deadlock", report, "no other thread changes it")


@cuda.jit
def lock_never_released(mutex, out):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:  # here
        pass
    out[cuda.grid(1)] = 1


def test_deadlock_of_a_lock_that_nobody_gives_back():
    mutex, out = np.zeros(1, np.int32), np.zeros(2, np.int32)
    report = checked_run(lock_never_released, 1, 2, mutex, out, measure=False)
    expect(lock_never_released, "deadlock", report)


@cuda.jit
def never_ends(out):
    i = 0
    while i < 10:  # here
        out[cuda.grid(1)] = i


def test_endless_loop():
    report = checked_run(never_ends, 1, 2, np.zeros(2, np.int32), budget=500)
    expect(never_ends, "endless", report, "i < 10", "each round is like the one before")


@cuda.jit
def takes_ages(out):
    for i in range(1_000_000_000):  # here
        out[cuda.grid(1)] = i


def test_a_loop_over_the_budget():
    report = checked_run(takes_ages, 1, 32, np.zeros(32, np.int32), budget=1000)
    expect(takes_ages, "endless", report, "budget")
