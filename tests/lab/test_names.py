"""The names of `numba.cuda` that the lab knows are those that its engines can do something with."""

import linecache
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from lessons.lab import names, native
from lessons.lab.compiled import bits, cuda_calls
from lessons.lab.compiled.atomics import ATOMICS
from lessons.lab.compiled.thread import POSITIONS
from lessons.lab.compiled.waits import WAITS
from lessons.lab.simulator.cuda_functions.table import FUNCTIONS
from lessons.lab.simulator.run import checked_run

ROOT = Path(__file__).resolve().parents[2]


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
    front.atomic = type("atomic", (), {"add": lambda *numbers: 0, "max": lambda *numbers: 0})
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
def kernel(values, out, count, largest):
    tile = cuda.shared.array(8, float32)
    i = cuda.grid(1)
    tile[threadIdx.x] = values[i] * float32(2)
    cuda.syncthreads()
    out[i] = tile[cuda.blockDim.x - 1 - threadIdx.x]
    cuda.atomic.add(count, 0, float32(cuda.warpsize))
    cuda.atomic.max(largest, 0, values[i])
"""
    scope = {"cuda": front, "float32": single, "threadIdx": front.threadIdx}
    name = "<the successor's kernel>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    values, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    count, largest = np.zeros(1, np.float32), np.full(1, np.nan)
    report = checked_run(scope["kernel"], 1, 8, values, out, count, largest)
    assert report.ok, report
    np.testing.assert_array_equal(out, values[::-1] * 2)
    assert count[0] == 8 * 32 and largest[0] == 7  # its atomics pass over what is no number
    out[:], count[:], largest[:] = 0, 0, np.nan
    native(scope["kernel"])[1, 8](values, out, count, largest)
    np.testing.assert_array_equal(out, values[::-1] * 2)
    assert count[0] == 8 * 32 and largest[0] == 7


PROGRAM = """
import numpy as np
from numba_cuda_mlir import cuda, extending
from numba_cuda_mlir.numba_cuda import types
own = dict(typing_registry=extending.typing_registry)
def twice(x): pass
@extending.overload(twice, **own)
def twice_by_type(x):
    if isinstance(x, types.Integer):
        return lambda x: x * 2
    return lambda x: x + x + 0.5
@extending.register_jitable(**own)
def limited(x, most): return most if x > most else x
@extending.overload_method(types.Array, "last", **own)
def last(a): return lambda a: a[a.size - 1]
@cuda.jit
def kernel(a, i, out):
    out[0], out[1], out[2], out[3] = twice(i), twice(a[1]), limited(i, 5), a.last()
out = np.zeros(4)
kernel[1, 1](np.arange(4.0), 7, out)
assert out.tolist() == [14, 2.5, 5, 3], out
@cuda.jit
def fill(a: types.float32[::1], number: types.int32): a[cuda.grid(1)] = number
(signature,) = fill.signatures
assert ".entry" in fill.inspect_asm(signature) and "define" in fill.inspect_llvm(signature)
fill[1, 1](out := np.zeros(1, np.float32), 2.75)
assert out[0] == 2
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda_mlir") is None, reason="needs numba-cuda-mlir")
@pytest.mark.parametrize("options", [(), ("--native",)])
def test_what_is_registered_with_the_successor(tmp_path, options):
    script = tmp_path / "registered.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "lessons.lab", "run", *options, str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
