"""Functions that get their meaning by `@overload`: what numba-cuda has registered for them."""

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from numba.core.errors import NumbaError

TARGETS = ("cuda", "generic")  # in the order in which numba-cuda prefers them


def implementation_of(
    function: Callable, kinds: Sequence[Any], named: dict[str, Any]
) -> FunctionType | None:
    """The Python function that stands for another with arguments of these Numba types, or None."""
    for template in templates_of(function):
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
