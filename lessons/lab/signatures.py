"""Kernels and device functions with explicit signatures: arguments are converted to its types."""

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from numba.core import sigutils, types
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype

from .errors import InputError
from .numba_types import typing_context
from .overloads import in_types_of
from .source import read_source

ATTRIBUTE = "signatures_of_launch"  # of a kernel: a list of `Signature`


class Signature(NamedTuple):
    """arguments: their Numba types. result: that of what is returned, None if it is not said."""

    arguments: tuple[types.Type, ...]
    result: types.Type | None


def keep_signatures(kernel: Callable, signatures: Sequence[Any]) -> None:
    """Remember a kernel's signatures, each a text such as "void(float32[:])" or a Numba type."""
    try:
        normal = [Signature(*sigutils.normalize_signature(of_numba(s))) for s in signatures]
    except TypeError:  # types of another package than Numba: its launches convert nothing here
        return
    setattr(kernel, ATTRIBUTE, normal)


def of_numba(signature: Any) -> Any:
    """A signature of the types of Numba's successor, which are written alike, in Numba's own."""
    listed = getattr(signature, "args", signature)
    if not isinstance(listed, tuple):
        return signature
    arguments = tuple(in_types_of(types, kind) for kind in listed)
    result = getattr(signature, "return_type", None)
    return arguments if result is None else in_types_of(types, result)(*arguments)


def signatures_of(kernel: Any) -> list[Signature]:
    """The explicit signatures of a kernel or device function; [] if it has none."""
    kept: list[Signature] | None = getattr(kernel, ATTRIBUTE, None)
    if kept is not None:
        return kept
    may_compile = getattr(kernel, "_can_compile", None)  # False: only for its signatures
    if may_compile is False:
        return [
            Signature(tuple(arguments), overload.signature.return_type)
            for arguments, overload in kernel.overloads.items()
        ]
    if may_compile is None and hasattr(kernel, "fn"):  # of Numba's simulator, which forgets them
        keep_signatures(kernel, written_signatures(kernel))
        return signatures_of(kernel)
    return []


def written_signatures(kernel: Callable) -> list[Any]:
    """The signatures in a kernel's `@cuda.jit(...)`, as Python values."""
    try:
        source = read_source(kernel)
    except InputError:
        return []
    for decorator in source.tree.decorator_list:
        if not isinstance(decorator, ast.Call) or not decorator.args:
            continue
        text = ast.unparse(decorator.args[0])
        try:
            value = eval(text, source.function.__globals__)
        except Exception:  # a name that only the function around knows
            continue
        listed = isinstance(value, (list, tuple)) and not sigutils.is_signature(value)
        return [s for s in (value if listed else [value]) if sigutils.is_signature(s)]
    return []


def converted(
    kernel: Callable, values: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[types.Type, ...] | None]:
    """(the arguments, their types) by the kernel's signature; types None if it has none.

    Raises `TypeError` if they fit none.
    """
    signatures = signatures_of(kernel)
    if not signatures:
        return tuple(values), None
    found = [next(problems(signature.arguments, values), "") for signature in signatures]
    pairs = zip(signatures, found, strict=True)
    fitting = list(dict.fromkeys(one for one, problem in pairs if not problem))
    if not fitting:
        name = getattr(kernel, "__name__", "the kernel")
        raise TypeError(f"{name}: {found[-1]} (in Numba's words: No matching definition)")
    if len(fitting) > 1:
        with suppress(ValueError):  # of what has no type in Numba
            kinds = tuple(map(typeof, values))
            fitting = [best(fitting, kinds, getattr(kernel, "py_func", kernel)) or fitting[0]]
    wanted = fitting[0].arguments
    return tuple(map(convert, wanted, values)), wanted


def best(
    signatures: Sequence[Signature], kinds: tuple[types.Type, ...], function: object = None
) -> Signature | None:
    """The signature to whose types arguments of these types are converted best; None if none.

    function: for which two must not be equally good. Raises `TypeError` if they are.
    """
    cases = [types.void(*signature.arguments) for signature in signatures]
    strict = function is not None
    found = typing_context().resolve_overload(
        function, cases, kinds, {}, allow_ambiguous=not strict
    )
    return None if found is None else signatures[cases.index(found)]


def problems(wanted: Sequence[types.Type], values: Sequence[Any]) -> Iterator[str]:
    """Why the arguments do not fit a signature, one text per argument."""
    if len(wanted) != len(values):
        yield f"its signature has {len(wanted)} arguments, but {len(values)} were given"
        return
    for number, (kind, value) in enumerate(zip(wanted, values, strict=True), 1):
        if isinstance(kind, types.Array) != isinstance(value, np.ndarray):
            yield f"argument {number} is a {type(value).__name__}; its signature says {kind}"
        elif isinstance(kind, types.Array):
            layouts = {"C": value.flags.c_contiguous, "F": value.flags.f_contiguous}
            if value.ndim != kind.ndim or value.dtype != dtype_of(kind.dtype):
                shape = ", ".join(":" * value.ndim)
                yield f"argument {number} is {value.dtype}[{shape}]; its signature says {kind}"
            elif not layouts.get(kind.layout, True):
                yield f"argument {number} is not contiguous; its signature says {kind}"


def convert(kind: types.Type, value: Any) -> Any:
    if isinstance(value, (np.ndarray, tuple)):
        return value
    dtype = dtype_of(kind)
    if dtype is None or (isinstance(value, np.generic) and value.dtype == dtype):
        return value
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


@functools.lru_cache(maxsize=1024)
def dtype_of(kind: types.Type) -> np.dtype | None:
    try:
        return np.dtype(as_dtype(kind))
    except (NumbaError, NotImplementedError, TypeError):
        return None
