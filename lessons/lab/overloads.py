"""Numba's extension API: what numba-cuda has registered for functions, attributes and types."""

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
    return first_implementation(templates_of(function), kinds, named)


def first_implementation(
    templates: Sequence[Any], kinds: Sequence[Any], named: dict[str, Any]
) -> FunctionType | None:
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


def attribute_templates(kind: Any, name: str) -> list[Any]:
    """What `@overload_method` or `@overload_attribute` has registered for a type's attribute."""
    context = cuda_typing_context()
    if context is None:
        return []
    context.refresh()
    return [
        template for template in context._get_attribute_templates(kind)
        if getattr(template, "_attr", None) == name and hasattr(template, "_overload_func")
    ]  # fmt: skip


def type_made_by(function: Callable, kinds: Sequence[Any]) -> Any:
    """The type of what a class makes of arguments of these types; None if none is registered."""
    context = cuda_typing_context()
    if context is None:
        return None
    context.refresh()
    try:
        known = context._lookup_global(function)
        return known and context.resolve_function_type(known, tuple(kinds), {}).return_type
    except (AttributeError, TypeError, NumbaError):
        return None


def members_of(kind: Any) -> dict[str, Any]:
    """name -> type, of a type that `register_model` gave a `StructModel`; else empty."""
    try:
        from numba.cuda.datamodel import default_manager
        from numba.cuda.models import cuda_data_manager

        model = cuda_data_manager.chain(default_manager).lookup(kind)
    except (ImportError, KeyError, NumbaError, NotImplementedError):
        return {}
    return dict(zip(getattr(model, "_fields", ()), getattr(model, "_members", ()), strict=False))


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
