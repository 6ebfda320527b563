"""The names of `numba.cuda` that the lab knows are those that its engines can do something with."""

import linecache
import sys
import types

import numpy as np
import pytest

from lessons.lab import names, native
from lessons.lab.compiled import bits, cuda_calls
from lessons.lab.compiled.atomics import ATOMICS
from lessons.lab.compiled.thread import POSITIONS
from lessons.lab.compiled.waits import WAITS
from lessons.lab.simulator.cuda_functions.table import FUNCTIONS
from lessons.lab.simulator.run import checked_run


def test_the_simulator_has_each_function_that_is_known_and_no_other():
    assert set(FUNCTIONS) == set(names.FUNCTIONS)


def test_the_native_engine_rewrites_only_names_that_are_known():
    atomics = {f"atomic.{operation}" for operation in ATOMICS}
    groups = (POSITIONS, WAITS, cuda_calls.NO_EFFECT, bits.FUNCTIONS, atomics)
    assert {path for group in groups for path in group} <= {*names.KNOWN_PATHS, *POSITIONS}


@pytest.fixture
def successor(monkeypatch):
    """A stand-in for numba-cuda-mlir: the same names, from modules and types of its own."""
    package = types.ModuleType("numba_cuda_mlir")
    front = types.ModuleType("numba_cuda_mlir.cuda")
    shared = types.ModuleType("numba_cuda_mlir.cuda.shared")
    shared.array = lambda shape, dtype: None
    for name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        setattr(front, name, type(name, (), {}))
    front.grid, front.syncthreads = (lambda axes: None), (lambda: None)
    front.atomic = type("atomic", (), {"add": staticmethod(lambda *arguments: None)})
    front.shared, front.warpsize = shared, 32
    number = type("Float", (), {"__str__": lambda self: "float32", "__call__": lambda self, x: x})
    number.__module__ = "numba_cuda_mlir.numba_cuda.types.scalars"
    for module in (package, front, shared):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return front, number()


@pytest.mark.slow
def test_kernels_of_the_successor(successor):
    front, single = successor
    text = """
def kernel(values, out, count):
    tile = cuda.shared.array(8, float32)
    i = cuda.grid(1)
    tile[threadIdx.x] = values[i] * float32(2)
    cuda.syncthreads()
    out[i] = tile[cuda.blockDim.x - 1 - threadIdx.x]
    cuda.atomic.add(count, 0, float32(cuda.warpsize))
"""
    scope = {"cuda": front, "float32": single, "threadIdx": front.threadIdx}
    name = "<the successor's kernel>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    values, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    count = np.zeros(1, np.float32)
    report = checked_run(scope["kernel"], 1, 8, values, out, count)
    assert report.ok, report
    np.testing.assert_array_equal(out, values[::-1] * 2)
    assert count[0] == 8 * 32
    out[:], count[:] = 0, 0
    native(scope["kernel"])[1, 8](values, out, count)
    np.testing.assert_array_equal(out, values[::-1] * 2)
    assert count[0] == 8 * 32
