"""Functions that get their meaning by `@overload`: numba-cuda says which implementation to call."""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from ...numba_types import is_number
from ..memory.arrays import ArrayView

TARGETS = ("cuda", "generic")  # in the order in which numba-cuda prefers them


def overload_of(
    function: object, arguments: list[Any], keywords: dict[str, Any]
) -> Callable | None:
    """The Python function that stands for another with these arguments; None if there is none."""
    templates = templates_of(function) if isinstance(function, FunctionType) else []
    if not templates:
        return None
    kinds = [numba_type(argument) for argument in arguments]
    named = {name: numba_type(value) for name, value in keywords.items()}
    for template in templates:
        try:
            found = template._overload_func(*kinds, **named)
        except (TypeError, NumbaError):
            continue
        implementation = found[1] if isinstance(found, tuple) else found
        if isinstance(implementation, FunctionType):
            return implementation
    return None


def templates_of(function: Callable) -> list[Any]:
    """What `@overload` has registered for a function, the GPU's own first."""
    context = cuda_typing_context()
    kind = None if context is None else context._lookup_global(function)
    found = [template for template in getattr(kind, "templates", ())
             if hasattr(template, "_overload_func")]  # fmt: skip
    by_target = [(template.metadata.get("target", "generic"), template) for template in found]
    return [template for wanted in TARGETS for target, template in by_target if target == wanted]


@functools.cache
def cuda_typing_context() -> Any:
    """Where numba-cuda keeps the types of functions; None where it is not installed."""
    try:
        from numba.cuda.descriptor import cuda_target
    except ImportError:
        return None
    context = cuda_target.typing_context
    context.refresh()
    return context


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
