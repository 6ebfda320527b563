"""`cuda.reduce` and ufuncs for the GPU, computed on the host: right, and not checked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..source import python_function
from .device_array import DeviceArray, plain
from .host_array import plain_array

if TYPE_CHECKING:
    from .session import Session


def reduce_replacement(session: "Session") -> Callable:
    """`cuda.reduce`: makes a reduction of a function of two numbers."""

    def reduce(functor: Callable) -> Callable:
        combine = python_function(functor)

        def reduction(
            arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
        ) -> Any:
            values = np.asarray(plain_array(plain(arr)))
            total = init
            with np.errstate(over="ignore"):
                for value in values[:size]:
                    total = values.dtype.type(combine(total, value))
            if res is None:
                return total
            res[0] = total
            return None

        return reduction

    return reduce


def ufunc_replacement(session: "Session", original: Callable) -> Callable:
    """`numba.vectorize` or `numba.guvectorize`, whose target "cuda" is compiled for the CPU."""

    def vectorize(*arguments: Any, **options: Any) -> Any:
        if options.get("target") != "cuda":
            return original(*arguments, **options)
        decorate = original(*arguments, **{**options, "target": "cpu"})
        if not callable(arguments[0]):
            return lambda function: on_device(session, decorate(function))
        return on_device(session, decorate)

    return vectorize


def on_device(session: "Session", ufunc: Callable) -> Callable:
    """A ufunc that takes arrays of the device, and returns one if it was given any."""

    def call(*arguments: Any, out: Any = None, stream: Any = 0) -> Any:
        outputs = {} if out is None else {"out": plain_array(plain(out))}
        result = ufunc(*(plain_array(plain(argument)) for argument in arguments), **outputs)
        if out is not None:
            return out
        if any(isinstance(argument, DeviceArray) for argument in arguments):
            return DeviceArray(session, np.asarray(result))
        return result

    return call
