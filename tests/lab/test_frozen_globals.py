"""Values from outside are those of the time when the kernel was compiled, as on a GPU."""

from types import ModuleType

import numpy as np
from numba import cuda, float32

from lessons.lab import checked_run
from tests.lab.helpers import clean, expect, line_of_comment

SCALE = 2
SIZES = (3, 4)
TABLE = np.arange(4, dtype=np.int32)
settings = ModuleType("settings")
settings.OFFSET = 10


@cuda.jit(device=True)
def scaled(value):
    return value * SCALE  # here


@cuda.jit
def uses_values_from_outside(out):
    i = cuda.grid(1)
    out[i] = scaled(i) + SIZES[1] + TABLE[i] + settings.OFFSET


def run(kernel, dtype=np.int32):
    out = np.zeros(4, dtype)
    return checked_run(kernel, 1, 4, out), out.tolist()


def test_a_kernel_goes_on_with_the_values_of_its_first_launch(monkeypatch):
    report, before = run(uses_values_from_outside)
    clean(report)
    clean(run(uses_values_from_outside)[0])
    monkeypatch.setitem(globals(), "SCALE", 5)
    monkeypatch.setitem(globals(), "SIZES", (0, 0))
    monkeypatch.setattr(settings, "OFFSET", 0)
    TABLE[:] += 7
    report, after = run(uses_values_from_outside)
    TABLE[:] -= 7
    assert after == before == [14, 17, 20, 23]
    assert [finding.kind for finding in report.problems] == ["frozen"] * 4
    assert line_of_comment(scaled) in [finding.line for finding in report.problems]
    # Arguments of other types are another compilation, which sees what there is then.
    report, fresh = run(uses_values_from_outside, np.int64)
    clean(report)
    assert fresh == [0, 6, 12, 18]


def test_a_value_of_the_enclosing_function():
    factor = 3

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = float32(factor)  # here

    assert run(kernel)[1] == [3] * 4
    factor = 4
    report, values = run(kernel)
    expect(kernel, "frozen", report, "`factor` was 3", "is 4 now")
    assert values == [3] * 4
