"""Functions that get their meaning by `@overload`: numba-cuda says which implementation to call."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from ...numba_types import is_number
from ...overloads import implementation_of, templates_of
from ..memory.arrays import ArrayView


def overload_of(
    function: object, arguments: list[Any], keywords: dict[str, Any]
) -> Callable | None:
    """The Python function that stands for another with these arguments; None if there is none."""
    if not isinstance(function, FunctionType) or not templates_of(function):
        return None
    kinds = [numba_type(argument) for argument in arguments]
    named = {name: numba_type(value) for name, value in keywords.items()}
    return implementation_of(function, kinds, named)


def numba_type(value: object) -> Any:
    """The type that Numba gives a value of a kernel."""
    try:
        if is_number(value):
            return from_dtype(value.dtype)
        if isinstance(value, ArrayView):
            return types.Array(from_dtype(value.dtype), len(value.shape), "C")
    except (NumbaError, NotImplementedError):
        return types.undefined
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([numba_type(item) for item in value])
    if isinstance(value, str):
        return types.unicode_type
    if isinstance(value, np.dtype):
        return types.DType(from_dtype(value))
    return types.none if value is None else types.undefined
