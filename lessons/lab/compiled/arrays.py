"""What a kernel's source says about its shared and local arrays."""

import ast
import copy
from typing import Any, NamedTuple

from numba.core import types

from ..compile_checks import problem_of_size, shape_argument, sizes_of
from ..source import Source
from .meanings import ALIASES
from .memory import element_type
from .refusal import NativeRefusal, place, refuse


class ArrayType(NamedTuple):
    """What `cuda.shared.array` and `cuda.local.array` are told."""

    shape: tuple[int, ...]  # (0,) for dynamic shared memory
    element: types.Type | None  # None if it depends on an argument, as in `x.dtype`
    expression: ast.expr  # of the type


def array_type(source: Source, call: ast.Call, scope: dict[str, Any]) -> ArrayType:
    """What a call of an array maker asks for. scope: values of names. Raises `NativeRefusal`."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = call.args[1] if len(call.args) > 1 else named.get("dtype")
    shape = shape_argument(call)
    if kind is None or shape is None:
        refuse(source, call, "an array without a shape and a type")
    sizes = shape_of(source, call, shape, scope)
    try:
        value = constant(source, kind, scope)
    except (NameError, AttributeError):  # of an argument: known when the kernel is compiled
        return ArrayType(sizes, None, kind)
    element = element_type(value)
    if element is None:
        refuse(source, call, f"an array of type {ast.unparse(kind)}")
    return ArrayType(sizes, element, kind)


def shape_of(
    source: Source, call: ast.Call, shape: ast.expr, scope: dict[str, Any]
) -> tuple[int, ...]:
    for size in sizes_of(shape):
        if isinstance(size, ast.Name) and size.id in ALIASES.get(source.tree, {}):
            continue  # the caller has passed a number
        problem = problem_of_size(source, size)
        if problem:
            raise NativeRefusal(
                f"{place(source, call)}: the size `{ast.unparse(size)}` of an array {problem}"
            )
    value = constant(source, shape, scope)
    sizes = tuple(value) if isinstance(value, tuple) else (value,)
    if min(sizes, default=0) < 0:
        refuse(source, call, f"an array of {sizes}")
    return sizes


def constant(source: Source, node: ast.expr, scope: dict[str, Any]) -> Any:
    """Value of an expression of literals, names from outside, and local names for either."""
    passed = ALIASES.get(source.tree, {})
    scope = {**scope, **passed}
    if isinstance(node, ast.Name):
        node = assigned_in(source).get(node.id, node)
    if any(
        isinstance(part, ast.Name)
        and part.id in source.function.__code__.co_varnames
        and part.id not in passed
        for part in ast.walk(node)
    ):
        raise NameError(f"{ast.unparse(node)} is known only when the kernel runs")
    expression = ast.Expression(copy.deepcopy(node))
    return eval(compile(ast.fix_missing_locations(expression), "<size>", "eval"), scope)


def assigned_in(source: Source) -> dict[str, ast.expr]:
    """What a function last assigns to each of its variables."""
    assigned: dict[str, ast.expr] = {}
    for statement in ast.walk(source.tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            assigned[statement.targets[0].id] = statement.value
    return assigned
