"""The checked simulator finds accesses outside an array, and memory read before it is written."""

import numpy as np
from numba import cuda, float32

from lessons.lab import checked_run
from tests.lab.helpers import expect, floats, no_guard


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
    (advice,) = (finding for finding in report.findings if finding.kind == "negative")
    assert report.ok and "thread 0 of block 0 uses the index -1 of values" in advice.message
    report = checked_run(negative, 1, 32, floats(32), np.zeros(32, np.float32), negative=False)
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
