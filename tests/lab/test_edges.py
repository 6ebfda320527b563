"""What NaN and sizes near 2**31 must not hide."""

import numpy as np
import pytest
from numba import cuda, int32

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
    report = checked_run(narrow_index, 1, 32, values, NEAR, out)
    assert [f.kind for f in problems(report)] == ["overflow", "out-of-bounds"]
    assert "thread 5 of block 0" in problems(report)[0].message
