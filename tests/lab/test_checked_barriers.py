"""The checked simulator finds barriers that threads miss, deadlocks, and loops that never end."""

import numpy as np
import pytest
from numba import cuda, float32
from numba.extending import register_jitable

from lessons.lab import checked_run
from tests.lab.helpers import expect, line_of_comment, problems


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
def takes_ages(out):
    for i in range(1_000_000_000):  # here
        out[cuda.grid(1)] = i


def test_a_loop_over_the_budget():
    report = checked_run(takes_ages, 1, 32, np.zeros(32, np.int32), budget=1000)
    expect(takes_ages, "endless", report, "budget")
