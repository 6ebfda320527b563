"""Numba's extension API: what is registered for functions, attributes and types.

numba-cuda and numba-cuda-mlir each have their own, with types of their own.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

from numba.core import types
from numba.core.errors import NumbaError

from .names import SUCCESSOR

TARGETS = ("cuda", "generic")  # in the order in which numba-cuda prefers them


def first_implementation(
    templates: Sequence[Any], kinds: Sequence[Any], named: dict[str, Any]
) -> FunctionType | None:
    """The Python function that stands for another with arguments of these Numba types, or None.

    kinds, named: also those of numbers that are known, which some implementations ask for.
    """
    for template in templates:
        own = types_of(template)
        ways = [types.unliteral, lambda kind: kind]
        for way in reversed(ways) if getattr(template, "prefer_literal", False) else ways:
            given = [in_types_of(own, way(kind)) for kind in kinds]
            by_name = {name: in_types_of(own, way(kind)) for name, kind in named.items()}
            try:
                found = template._overload_func(*given, **by_name)
            except refusals():
                continue
            implementation = found[1] if isinstance(found, tuple) else found
            if isinstance(implementation, FunctionType):
                return implementation
    return None


def templates_of(function: Callable) -> list[Any]:
    """What `@overload` has registered for a function, the GPU's own first."""
    kinds = [context._lookup_global(function) for context, _ in typing_contexts()]
    found = [template for kind in kinds for template in getattr(kind, "templates", ())
             if hasattr(template, "_overload_func")]  # fmt: skip
    by_target = [(template.metadata.get("target", "generic"), template) for template in found]
    return [template for wanted in TARGETS for target, template in by_target if target == wanted]


def attribute_templates(kind: Any, name: str) -> list[Any]:
    """What `@overload_method` or `@overload_attribute` has registered for a type's attribute."""
    return [
        template for context, own in typing_contexts(refresh=True)
        for template in context._get_attribute_templates(in_types_of(own, kind))
        if getattr(template, "_attr", None) == name and hasattr(template, "_overload_func")
    ]  # fmt: skip


def type_made_by(function: Callable, kinds: Sequence[Any]) -> Any:
    """The type of what a class makes of arguments of these types; None if none is registered."""
    for context, own in typing_contexts(refresh=True):
        known = context._lookup_global(function)
        given = tuple(in_types_of(own, kind) for kind in kinds)
        with suppress(*refusals()):
            if known:
                return context.resolve_function_type(known, given, {}).return_type
    return None


def members_of(kind: Any) -> dict[str, Any]:
    """name -> type, of a type that `register_model` gave a `StructModel`; else empty."""
    try:
        if types_of(kind) is not types:
            model = importlib.import_module(f"{SUCCESSOR}.models").mlir_data_manager.lookup(kind)
        else:
            from numba.cuda.datamodel import default_manager
            from numba.cuda.models import cuda_data_manager

            model = cuda_data_manager.chain(default_manager).lookup(kind)
    except (ImportError, KeyError, NumbaError, NotImplementedError):
        return {}
    members = [in_types_of(types, member) for member in getattr(model, "_members", ())]
    return dict(zip(getattr(model, "_fields", ()), members, strict=False))


def typing_contexts(refresh: bool = False) -> Iterator[tuple[Any, ModuleType]]:
    """Where each package that is loaded keeps the types of functions, and its own types.

    refresh: whether to look for what was registered since.
    """
    for package in ("numba.cuda", SUCCESSOR):
        # Loading the second takes seconds.
        context = typing_context_of(package) if package in sys.modules else None
        if context is not None:
            if refresh:
                context.refresh()
            yield context, types_of(context)


@functools.cache
def typing_context_of(package: str) -> Any:
    try:
        descriptor = importlib.import_module(f"{package}.descriptor")
    except ImportError:
        return None
    target = getattr(descriptor, "mlir_target", None) or getattr(descriptor, "cuda_target", None)
    if target is None:
        return None
    target.typing_context.refresh()
    return target.typing_context


# ---------------------------------------------------------------- types of the two packages


def types_of(value: object) -> ModuleType:
    """The types of the package to which a type or a template belongs."""
    bases = (value if isinstance(value, type) else type(value)).__mro__
    if not any(base.__module__.startswith(SUCCESSOR) for base in bases):
        return types
    return sys.modules.get(f"{SUCCESSOR}.numba_cuda.types", types)


def refusals() -> tuple[type[Exception], ...]:
    """What each package raises where there is no function for some types."""
    errors = sys.modules.get(f"{SUCCESSOR}.numba_cuda.core.errors")
    return AttributeError, TypeError, NumbaError, getattr(errors, "NumbaError", NumbaError)


def in_types_of(own: ModuleType, kind: Any) -> Any:
    """A type in the types of another package, which are called alike; itself if it has none there.

    own: the module `types` of that package.
    """
    if types_of(kind) is own or not hasattr(kind, "cast_python_value"):
        return kind
    name, inner = type(kind).__name__, functools.partial(in_types_of, own)
    if name == "Array":
        dtype = inner(kind.dtype)
        return own.Array(dtype, kind.ndim, kind.layout, not kind.mutable, aligned=kind.aligned)
    if hasattr(kind, "literal_value"):
        return own.literal(kind.literal_value)
    if name.endswith("Tuple"):
        fields = getattr(kind, "instance_class", None)
        return own.BaseTuple.from_types(list(map(inner, kind)), fields)
    if name.endswith("EnumMember"):
        return getattr(own, name)(kind.instance_class, inner(kind.dtype))
    if name in ("DType", "NumberClass", "Optional"):
        return getattr(own, name)(inner(kind.key))
    if name in ("NPDatetime", "NPTimedelta"):
        return getattr(own, name)(kind.unit)
    if name == "Record":
        support = "numba.np" if own is types else f"{SUCCESSOR}.numba_cuda.np"
        return importlib.import_module(f"{support}.numpy_support").from_dtype(kind.dtype)
    return getattr(own, str(kind), kind)
