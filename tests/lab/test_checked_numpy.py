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
def calls_median(out):
    out[0] = np.median(out)


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
def median_by_another_name(out):
    middle = np.median
    out[0] = middle(out)


@pytest.mark.parametrize(
    "kernel, advice",
    [
        (calls_abs, "for a GPU: write abs"),
        (calls_absolute, "for a GPU: write abs"),
        (calls_fabs, "write math.fabs"),
        (calls_median, "use a loop"),
        (abs_by_another_name, "for a GPU: write abs"),
        (fabs_by_another_name, "write math.fabs"),
        (root_by_another_name, "write math.sqrt"),
    ],
)
def test_what_to_write_instead(kernel, advice):
    report = checked_run(kernel, 1, 1, np.ones(4, np.float32))
    assert [finding.kind for finding in report.findings] == ["compile"]
    assert "is a NumPy call" in report.findings[0].message
    assert advice in report.findings[0].message


def test_a_function_of_numpy_by_another_name_does_not_compile_either():
    report = checked_run(median_by_another_name, 1, 1, np.ones(4, np.float32))
    assert [finding.kind for finding in report.findings] == ["compile"]


@cuda.jit
def calls_what_numba_compiles(out):
    out[0] = np.arctan2(out[1], out[2])
    out[1] = np.sin(out[1])


def test_functions_of_numpy_that_compile_are_computed():
    out = np.array([0, 0.5, 2], np.float32)
    report = checked_run(calls_what_numba_compiles, 1, 1, out)
    assert report.ok, report
    np.testing.assert_allclose(out, [np.arctan2(0.5, 2), np.sin(0.5), 2], rtol=1e-6)
