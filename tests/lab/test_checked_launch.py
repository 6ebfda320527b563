"""Launches that the checked simulator refuses: sizes beyond the hardware, wrong arguments."""

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.errors import InputError
from lessons.lab.simulator.run import launch
from tests.lab.helpers import expect, floats, no_guard, three_dimensions


def test_block_over_the_hardware_limit():
    report = checked_run(three_dimensions, 1, (64, 32), np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"] and "2,048" in report.findings[0].message
    report = checked_run(three_dimensions, 1, (1, 1, 65), np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"]
    report = checked_run(three_dimensions, (1, 65536), 1, np.zeros((1, 1, 1), np.int32))
    assert [f.kind for f in report.findings] == ["limits"]


@cuda.jit
def too_much_shared(out):
    first = cuda.shared.array((64, 128), float32)
    second = cuda.shared.array((64, 128), float32)  # here
    first[0, 0] = second[0, 0] = out[0] = float32(0)


def test_shared_memory_over_the_hardware_limit():
    report = checked_run(too_much_shared, 1, 1, np.zeros(1, np.float32))
    expect(too_much_shared, "limits", report, "65,536")


def test_wrong_arguments_are_explained():
    with pytest.raises(TypeError, match=r"takes 2 arguments \(values, out\), but 1 were given"):
        checked_run(no_guard, 1, 32, floats(32))
    with pytest.raises(TypeError, match="argument values is a list"):
        checked_run(no_guard, 1, 32, [1, 2], floats(32))
    with pytest.raises(ValueError, match="block must be at least 1"):
        checked_run(no_guard, 1, 0, floats(32), floats(32))
    with pytest.raises(ValueError, match="grid must be whole numbers"):
        checked_run(no_guard, 1.5, 32, floats(32), floats(32))
    with pytest.raises(ValueError, match="a schedule is"):
        checked_run(no_guard, 1, 32, floats(32), floats(32), schedule="sideways")
    with pytest.raises(InputError, match="is not a kernel"):
        checked_run(3, 1, 32, floats(32))
    namespace = {"cuda": cuda}
    exec("def kernel(a):\n    a[0] = 1", namespace)
    with pytest.raises(InputError, match="source of kernel cannot be read"):
        checked_run(namespace["kernel"], 1, 1, floats(1))


def test_the_strict_launcher_raises_what_it_found():
    with pytest.raises(InputError, match="out-of-bounds"):
        launch(no_guard, 2, 32, floats(50), np.zeros(50, np.float32))
    launch(no_guard, 1, 32, floats(32), np.zeros(32, np.float32))


def test_a_launch_that_would_fill_the_memory_is_refused_at_once():
    report = checked_run(no_guard, 5_000_000, 256, floats(4), np.zeros(4, np.float32))
    assert [finding.kind for finding in report.problems] == ["unsupported"]
    assert "1,280,000,000 threads" in str(report) and "164 GB" in str(report)
