"""Explicit signatures convert what a kernel or a device function is called with."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32, float64, int32, int64

from lessons import lab
from lessons.lab import checked_run
from lessons.lab.signatures import keep_signatures, signatures_of
from tests.lab.helpers import clean

ROOT = Path(__file__).resolve().parents[2]


def with_signature(*signatures):
    """@cuda.jit(signature), which would ask for a GPU."""

    def decorate(function):
        kernel = cuda.jit(function)
        keep_signatures(kernel, signatures)
        return kernel

    return decorate


@with_signature("void(float32[:], int32, float32)")
def stores(out, count, factor):
    out[0] = count
    out[1] = factor


def test_numbers_become_those_of_the_signature():
    out = np.zeros(2, np.float32)
    report = checked_run(stores, 1, 1, out, 2**32 + 7, 0.1)
    clean(report)
    assert out[0] == 7 and out[1] == np.float32(0.1)
    assert [f for f in report.findings if f.topic == "double"] == []  # float32, not a double


def test_arrays_must_have_the_type_of_the_signature():
    with pytest.raises(TypeError, match="argument 1 is float64"):
        checked_run(stores, 1, 1, np.zeros(2), 1, 1)


@with_signature("(float64[::1], float32, float64)", "(float64[::1], int64, int64)")
def adds(out, a, b):
    out[0] = a + b


def test_the_best_of_several_signatures():
    out = np.zeros(1)
    for a, b, total in ((2**24 + 1, 1, 2**24 + 2), (np.float32(0.5), 0.25, 0.75)):
        clean(checked_run(adds, 1, 1, out, a, b))
        assert out[0] == total
    keep_signatures(adds, ["(float64[::1], float32, float64)", "(float64[::1], float64, float32)"])
    with pytest.raises(TypeError, match="Ambiguous overloading for <function adds"):
        checked_run(adds, 1, 1, out, 1.0, 2.0)


with lab.instead_of_gpu():

    @cuda.jit(["float32(float32, float32)", "float64(float64, float64)"], device=True)
    def sum_of(a, b):
        return a + b

    @cuda.jit
    def calls_sum_of(out, a, b):
        out[0] = sum_of(a, b)


@pytest.mark.parametrize("native", [False, True])
def test_a_device_function_is_called_by_the_best_of_its_signatures(native):
    small, out = 2.0**-25, np.zeros(1)
    with lab.instead_of_gpu(native=native) as session:
        calls_sum_of[1, 1](out, 1, small)
        assert out[0] == 1 + small
        calls_sum_of[1, 1](out, np.float32(1), np.float32(small))
        assert out[0] == 1
    assert session.ok, session


with lab.instead_of_gpu():

    @cuda.jit("float32(float32, int32)", device=True)
    def scaled(value, count):
        return value * count

    @cuda.jit
    def calls_scaled(out):
        out[0] = scaled(0.1, 2**32 + 3)
        out[1] = scaled(16777217, 1)


def test_a_device_function_converts_too():
    out = np.zeros(2)
    clean(checked_run(calls_scaled, 1, 1, out, without=["slow"]))
    assert out[0] == np.float32(np.float64(np.float32(0.1)) * 3) and out[1] == 16777216


def test_what_a_gpu_has_compiled_is_the_signature():
    overload = SimpleNamespace(signature=SimpleNamespace(return_type=float32))
    kernel = SimpleNamespace(_can_compile=False, overloads={(int32, float64): overload})
    assert signatures_of(kernel) == [((int32, float64), float32)]
    kernel._can_compile = True  # nothing is said, and what is there came from launches
    assert signatures_of(kernel) == []


PROGRAM = """
import numpy as np
from numba import cuda
from lessons.lab import checked_run

@cuda.jit("void(float32[:], int32)")
def kernel(out, count):
    out[0] = count

out = np.zeros(1, np.float32)
report = checked_run(kernel, 1, 1, out, 2**32 + 7)
print(report.ok, out[0], report)
"""


@pytest.mark.slow
def test_under_numbas_own_simulator_the_decorator_says_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1", PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, path], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("True 7.0"), done
    assert "judged by the lab's rules: NUMBA_ENABLE_CUDASIM is set" in done.stdout


def test_a_signature_of_a_tuple_of_types():
    keep_signatures(kernel := cuda.jit(lambda out: None), [(int64[:],)])
    assert signatures_of(kernel)[0].arguments == (int64[:],)
