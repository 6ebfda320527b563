"""Calls of NumPy in a kernel: the finding says what to write instead."""

import numpy as np
import pytest
from numba import cuda

from lessons.lab.simulator.run import checked_run


@cuda.jit
def calls_abs(out):
    out[0] = np.abs(out[1])


@cuda.jit
def calls_absolute(out):
    out[0] = np.absolute(out[1])


@cuda.jit
def calls_fabs(out):
    out[0] = np.fabs(out[1])


@cuda.jit
def calls_arctan2(out):
    out[0] = np.arctan2(out[1], out[2])


@cuda.jit
def calls_mean(out):
    out[0] = np.mean(out)


@cuda.jit
def abs_by_another_name(out):
    size = np.abs
    out[0] = size(out[1])


@cuda.jit
def fabs_by_another_name(out):
    size = np.fabs
    out[0] = size(out[1])


@cuda.jit
def root_by_another_name(out):
    root = np.sqrt
    out[0] = root(out[1])


@cuda.jit
def mean_by_another_name(out):
    average = np.mean
    out[0] = average(out)


@pytest.mark.parametrize(
    "kernel, advice",
    [
        (calls_abs, "without NumPy: write abs"),
        (calls_absolute, "without NumPy: write abs"),
        (calls_fabs, "write math.fabs"),
        (calls_arctan2, "write math.atan2"),
        (calls_mean, "use a loop"),
        (abs_by_another_name, "without NumPy: write abs"),
        (fabs_by_another_name, "write math.fabs"),
        (root_by_another_name, "write math.sqrt"),
        (mean_by_another_name, "use a loop"),
    ],
)
def test_what_to_write_instead(kernel, advice):
    report = checked_run(kernel, 1, 1, np.ones(4, np.float32))
    assert [finding.kind for finding in report.findings] == ["compile"]
    assert "is a NumPy call" in report.findings[0].message
    assert advice in report.findings[0].message
