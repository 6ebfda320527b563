"""The compiler that makes the kernels: numba-cuda, or its successor where that alone is installed.

numba-cuda is in maintenance. Its successor, numba-cuda-mlir, compiles the same Python, but under
its own names: `numba_cuda_mlir.cuda` in place of `numba.cuda`, `numba_cuda_mlir.types.float32` in
place of `numba.float32`. The kernels are written once, for `numba.cuda`. A Python function is code
and the values of the names in it; so for the successor each function is made again with the same
code and, under the same names, the successor's values. Whatever it calls is translated, too.

Numba itself is needed in any case: the CPU's loops are compiled by it.
"""

import importlib
import importlib.util
import os
import types
from functools import cache
from typing import Any

import numba
from numba import cuda as numba_cuda
from numba.core.types import Type

SUCCESSOR = "numba_cuda_mlir"
# To try the successor where both are installed.
CHOICE = "CUDA_FRONT_END"
OPTIONS_OF_BOTH = ("fastmath", "max_registers", "lineinfo")


@cache
def by_successor() -> bool:
    """Whether kernels are compiled by the successor: numba-cuda comes first."""
    if os.environ.get(CHOICE) == SUCCESSOR:
        return True
    installed = {name for name in ("numba_cuda", SUCCESSOR) if importlib.util.find_spec(name)}
    return installed == {SUCCESSOR}


def successor(module: str) -> types.ModuleType:
    return importlib.import_module(f"{SUCCESSOR}.{module}")


# The front end's module `cuda`: arrays on the GPU, its devices, waiting for it.
cuda = successor("cuda") if by_successor() else numba_cuda
settings = successor("numba_cuda.core.config") if by_successor() else numba.config
# Training a small network means small grids; the advice to use larger ones is well meant.
settings.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]


def typeof(value: Any) -> Any:
    """The front end's type of a kernel's argument."""
    if not by_successor():
        return numba.typeof(value)
    return successor("numba_cuda.typing.typeof").typeof(value)


def recording_stream(builder: Any) -> Any:
    """What a launch is given in place of a stream, so that a `GraphBuilder` records it."""
    return builder.stream if by_successor() else builder


def compiled_for_gpu(kernel: Any) -> Any:
    """What starts a kernel of `numba.cuda` on the GPU: itself, or the successor's of the same code.

    kernel: what `cuda.jit` returns. Raises `TypeError` if the kernel uses something that the
    successor has no word for.
    """
    return translated(kernel) if by_successor() else kernel


@cache
def translated(kernel: Any) -> Any:
    """A kernel or device function of `numba.cuda`, as one of the successor."""
    options = kernel.targetoptions
    kept = {name: options[name] for name in OPTIONS_OF_BOTH if options.get(name)}
    if options.get("device"):
        return device_function(kernel.py_func)
    return cuda.jit(**kept)(with_other_values(kernel.py_func))


@cache
def device_function(function: types.FunctionType) -> Any:
    """A function that kernels call."""
    # The successor loses the shared arrays of a function that stays one in the compiled code.
    has_shared_arrays = "shared" in function.__code__.co_names
    inline = {"inline": "always"} if has_shared_arrays else {}
    return cuda.jit(device=True, **inline)(with_other_values(function))


def instruction(value: Any) -> Any:
    """A raw instruction of the kernels, as the successor's. Raises `TypeError` if it has none."""
    other = importlib.import_module("kernels.fast.ptx_successor")
    for name, ours in vars(importlib.import_module("kernels.fast.ptx")).items():
        if ours is value and hasattr(other, name):
            return getattr(other, name)
    raise TypeError(f"{value} has not been said in {SUCCESSOR}'s words: see kernels/fast/ptx.py")


def with_other_values(function: types.FunctionType) -> types.FunctionType:
    """The function with the same code, in which each name has the value of the successor."""
    names = names_in(function.__code__)
    values = {
        name: other_value(value) for name, value in function.__globals__.items() if name in names
    }
    values |= {"__name__": function.__module__, "__file__": function.__code__.co_filename}
    cells = tuple(
        types.CellType(other_value(cell.cell_contents)) for cell in function.__closure__ or ()
    )
    other = types.FunctionType(
        function.__code__, values, function.__name__, function.__defaults__, cells
    )
    other.__module__, other.__qualname__ = function.__module__, function.__qualname__
    return other


def names_in(code: types.CodeType) -> set[str]:
    """The names of modules' values that code uses, functions within it included."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def other_value(value: Any) -> Any:
    """What stands for a value of `numba` or of ours in the successor; any other as it is."""
    if value is numba_cuda:
        return cuda
    if isinstance(value, Type):
        return getattr(successor("types"), str(value))
    if hasattr(value, "emulation"):
        return instruction(value)
    if hasattr(value, "py_func"):
        return translated(value)
    if isinstance(value, types.FunctionType):
        return device_function(value)
    if hasattr(value, "_fields"):  # a named tuple of functions
        return type(value)(*map(other_value, value))
    return value
