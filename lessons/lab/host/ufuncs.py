"""`@vectorize` and `@guvectorize` for the target "cuda": Numba's own, whose kernels the lab runs.

Numba writes a kernel around the function: one thread per element. It stays so; what is different
here is that this kernel's text can be read, and how an array on the device is broadcast.
"""

import linecache
from collections.abc import Iterator, Sequence
from itertools import count
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

from ..numba_compiler import any_device
from .device_array import DeviceArray

numbers: Iterator[int] = count()


def ufunc_patches(vectorizers: ModuleType) -> Iterator[tuple[Any, str, Any]]:
    """(owner, name, value): what is different in `numba.cuda.vectorizers`, while the lab is in."""
    texts: list[str] = []  # of the kernel that is being made
    device = vectorizers.deviceufunc
    write_source, expand = device.DeviceVectorize._get_kernel_source, device.expand_gufunc_template

    def get_kernel_source(self: Any, *arguments: Any) -> str:
        texts[:] = [write_source(self, *arguments)]
        return texts[0]

    def expand_gufunc_template(*arguments: Any) -> str:
        texts[:] = [expand(*arguments)]
        return texts[0]

    def compile_core(self: Any, signature: Any) -> tuple[Any, Any]:
        result = signature.return_type
        if result in (None, types.none):
            with any_device():
                result = vectorizers.cuda.compile_ptx(
                    self.pyfunc, signature.args, device=True, cc=(8, 0)
                )[1]
        return vectorizers.cuda.jit(signature, device=True)(self.pyfunc), result

    def compile_kernel(self: Any, function: FunctionType, sig: Any) -> Any:
        return vectorizers.cuda.jit(with_text(function, texts[0]))

    def broadcast_device(self: Any, array: Any, shape: Sequence[int]) -> DeviceArray:
        # As Numba does it, which compares axes from the first on: where an array has fewer, all
        # its elements may become the first.
        same = [axis < array.ndim and array.shape[axis] == n for axis, n in enumerate(shape)]
        steps = [0] * (len(shape) - array.ndim) + list(array.strides)
        return in_steps(array, shape, [step * kept for step, kept in zip(steps, same, strict=True)])

    def broadcast_add_axis(self: Any, array: Any, shape: Sequence[int]) -> DeviceArray:
        steps = [s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)]
        return in_steps(array, shape, [0] * (len(shape) - array.ndim) + steps)

    yield device.DeviceVectorize, "_get_kernel_source", get_kernel_source
    yield device, "expand_gufunc_template", expand_gufunc_template
    yield vectorizers.CUDAVectorize, "_compile_core", compile_core
    yield vectorizers.CUDAVectorize, "_compile_kernel", compile_kernel
    yield vectorizers.CUDAGUFuncVectorize, "_compile_kernel", compile_kernel
    yield vectorizers.CUDAUFuncMechanism, "broadcast_device", broadcast_device
    yield vectorizers.CUDAGeneralizedUFunc, "_broadcast_add_axis", broadcast_add_axis
    yield vectorizers.CUDAGeneralizedUFunc, "_broadcast_scalar_input", broadcast_add_axis


def with_text(function: FunctionType, text: str) -> FunctionType:
    """The function, with a name for its text by which it can be looked up."""
    name = f"<{function.__name__} {next(numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    function.__code__ = function.__code__.replace(co_filename=name)
    return function


def in_steps(array: DeviceArray, shape: Sequence[int], steps: Sequence[int]) -> DeviceArray:
    """A view of it in another shape, with these strides in bytes."""
    data = np.lib.stride_tricks.as_strided(array._lab_data, shape, steps)
    array._lab_assume_written()
    return array._lab_part(data)
