"""What a kernel's source says about its shared and local arrays."""

import ast
import copy
from typing import Any, NamedTuple

import numpy as np

from lessons.lab.compile_checks import problem_of_size, shape_argument, sizes_of
from lessons.lab.compiled.refusal import NativeRefusal, place, refuse
from lessons.lab.numba_types import dtype_of_type
from lessons.lab.source import Source


class ArrayType(NamedTuple):
    """What `cuda.shared.array` and `cuda.local.array` are told."""

    shape: tuple[int, ...]
    dtype: np.dtype


def array_type(source: Source, call: ast.Call, scope: dict[str, Any]) -> ArrayType:
    """What a call of an array maker asks for. scope: values of names. Raises `NativeRefusal`."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = call.args[1] if len(call.args) > 1 else named.get("dtype")
    shape = shape_argument(call)
    if kind is None or shape is None:
        refuse(source, call, "an array without a shape and a type")
    sizes = shape_of(source, call, shape, scope)
    dtype = dtype_of_type(constant(source, kind, scope))
    if dtype is None:
        refuse(source, call, f"an array of type {ast.unparse(kind)}")
    return ArrayType(sizes, dtype)


def shape_of(
    source: Source, call: ast.Call, shape: ast.expr, scope: dict[str, Any]
) -> tuple[int, ...]:
    for size in sizes_of(shape):
        problem = problem_of_size(source, size)
        if problem:
            raise NativeRefusal(
                f"{place(source, call)}: the size `{ast.unparse(size)}` of an array {problem}"
            )
    value = constant(source, shape, scope)
    sizes = tuple(value) if isinstance(value, tuple) else (value,)
    if 0 in sizes:
        refuse(source, call, "dynamic shared memory")
    return sizes


def constant(source: Source, node: ast.expr, scope: dict[str, Any]) -> Any:
    """Value of an expression of literals, names from outside, and local names for either."""
    if isinstance(node, ast.Name):
        node = assigned_in(source).get(node.id, node)
    expression = ast.Expression(copy.deepcopy(node))
    return eval(compile(ast.fix_missing_locations(expression), "<size>", "eval"), scope)


def assigned_in(source: Source) -> dict[str, ast.expr]:
    """What a function last assigns to each of its variables."""
    assigned: dict[str, ast.expr] = {}
    for statement in ast.walk(source.tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            assigned[statement.targets[0].id] = statement.value
    return assigned
