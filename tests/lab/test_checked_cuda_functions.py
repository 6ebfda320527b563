"""Functions of cuda with arguments that they do not take: a finding, and no traceback."""

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab.simulator.run import checked_run
from tests.lab.helpers import HAS_NUMBA_CUDA


@cuda.jit
def counts_bits_of_an_array(out):
    out[0] = cuda.popc(out)


@cuda.jit
def shuffles_an_array(out):
    out[0] = cuda.shfl_sync(0xFFFFFFFF, out, 0)


@cuda.jit
def votes_without_a_condition(out):
    out[0] = cuda.ballot_sync(0xFFFFFFFF)


@cuda.jit
def counts_without_a_condition(out):
    out[0] = cuda.syncthreads_count()


@cuda.jit
def adds_an_array(out):
    cuda.atomic.add(out, 0, out)


@cuda.jit
def adds_at_no_index(out):
    cuda.atomic.add(out, float32(1))


@cuda.jit
def swaps_without_a_value(out):
    cuda.atomic.cas(out, 0, 1)


@cuda.jit
def grid_of_four(out):
    out[0] = cuda.grid(4)


@cuda.jit
def shape_of_an_array(out):
    tile = cuda.local.array(out, float32)
    out[0] = tile[0]


@pytest.mark.parametrize(
    "kernel, by_numba, by_rules",
    [
        (counts_bits_of_an_array, "`popc` does not take (an array of int32", "takes 1 number"),
        (shuffles_an_array, "it passes on int32, int64, float32 and float64", "takes 3 numbers"),
        (votes_without_a_condition, "cuda.ballot_sync: missing 1 required", "takes 2 numbers"),
        (counts_without_a_condition, "cuda.syncthreads_count: missing 1", "takes 1 number"),
        (adds_an_array, "for values of these types", "an array, an index and a value"),
        (adds_at_no_index, "takes an array, an index and", "an array, an index and a value"),
        (swaps_without_a_value, "takes an array, an index, what", "what is expected there"),
        (grid_of_four, "cuda.grid and cuda.gridsize take 1, 2 or 3", "take 1, 2 or 3"),
        (shape_of_an_array, "is known only when the kernel runs", "when the kernel runs"),
    ],
)
def test_wrong_arguments_are_a_finding(kernel, by_numba, by_rules):
    report = checked_run(kernel, 1, 32, np.zeros(32, np.int32))
    assert [finding.kind for finding in report.findings] == ["compile"], report
    assert (by_numba if HAS_NUMBA_CUDA else by_rules) in report.findings[0].message


@cuda.jit
def compares_shapes(image, out):
    out[0] = 1 if image.shape == out.shape else 2
    out[1] = 1 if image.shape == (3, 4) else 2


def test_tuples_of_different_lengths_are_not_equal():
    out = np.zeros(2, np.int32)
    report = checked_run(compares_shapes, 1, 1, np.zeros((3, 4), np.int32), out)
    assert report.ok, report
    np.testing.assert_array_equal(out, [2, 1])
