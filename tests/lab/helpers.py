"""What the tests of the lab share: inputs, kernels, and what a report has to say."""

import importlib.util
import inspect

import numpy as np
import pytest
from numba import cuda, float32

HAS_NUMBA_CUDA = importlib.util.find_spec("numba_cuda") is not None
needs_numba_cuda = pytest.mark.skipif(
    not HAS_NUMBA_CUDA,
    reason="needs numba-cuda, whose compiler decides: pip install -r requirements.txt",
)


def floats(*shape, seed=0):
    """Numbers between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def line_of_comment(kernel, comment="# here"):
    """Number of the line on which a kernel has this comment; None if on none."""
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", kernel)
    lines, first = inspect.getsourcelines(function)
    return next((first + i for i, line in enumerate(lines) if comment in line), None)


def problems(report):
    """The findings that are more than advice."""
    return report.problems


def doubles(report):
    """The advice about double precision."""
    return [finding for finding in report.findings if finding.topic == "double"]


def advised(kernel, report, word):
    """The run is clean, and the marked line has advice about double precision, in this word."""
    clean(report)
    assert {finding.kind for finding in report.advice} == {"slow"}, report
    assert line_of_comment(kernel) in [finding.line for finding in report.advice], report
    assert word in " ".join(finding.message for finding in doubles(report)), report


def expect(kernel, kind, report, *words):
    """Exactly one kind of problem was found, on the marked line, in these words."""
    found = problems(report)
    assert found, "nothing was found"
    assert {finding.kind for finding in found} == {kind}, report
    assert not report.ok
    assert line_of_comment(kernel) in [finding.line for finding in found], report
    text = " ".join(finding.message for finding in found)
    for word in words:
        assert word in text, report
    return found


def clean(report):
    assert report.ok and problems(report) == [], report


@cuda.jit
def block_sum(values, total):
    partial = cuda.shared.array(256, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[thread] = values[i] if i < values.shape[0] else float32(0)
    active = cuda.blockDim.x // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            partial[thread] += partial[thread + active]
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial[0])


@cuda.jit
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    if x < out.shape[2] and y < out.shape[1] and z < out.shape[0]:
        out[z, y, x] = z * 100 + y * 10 + x


@cuda.jit
def no_guard(values, out):
    i = cuda.grid(1)
    out[i] = values[i]  # here
