"""The arguments of a function of cuda."""

import ast
from collections.abc import Sequence

from ...names import ARGUMENT_NAMES
from ...numba_types import Number
from ..stops import Unsupported
from ..values import as_number


def in_order(
    node: ast.Call, path: str, arguments: Sequence[object], keywords: dict[str, object]
) -> list[object]:
    """All arguments in the order of the function's parameters, those given by name as well."""
    names = ARGUMENT_NAMES.get(path, ())[len(arguments) :]
    unknown_names = [name for name in keywords if name not in names]
    if unknown_names and unknown_names != ["alignment"]:
        raise Unsupported(node, f"cuda.{path} has no argument `{unknown_names[0]}` here")
    return [*arguments, *(keywords[name] for name in names if name in keywords)]


def numbers(node: ast.Call, arguments: Sequence[object], count: int) -> list[Number]:
    """The arguments of a function that takes `count` numbers."""
    found = [number for number in map(as_number, arguments) if number is not None]
    if not len(found) == len(arguments) == count:
        raise Unsupported(node, f"`{ast.unparse(node)}` takes {count} number{'s' * (count > 1)}")
    return found
