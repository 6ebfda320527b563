"""Functions and lambdas that a kernel defines itself."""

import ast
import types
from collections.abc import Iterator, Sequence

from ...source import Source
from ..frames import Frame
from ..stops import Unsupported
from ..values import InnerFunction


def inner_function(
    frame: Frame,
    node: ast.FunctionDef | ast.Lambda,
    defaults: Sequence[object],
    keyword_defaults: dict[str, object],
) -> InnerFunction:
    """The function that a `def` or `lambda` makes in this call."""
    code = code_of(frame, node)
    if code is None:
        raise Unsupported(node, "this function cannot be defined here")
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node.body)
        tree = ast.FunctionDef("lambda", node.args, [result], [], None, None)
        tree = ast.copy_location(tree, node)
    else:
        tree = node
    cells = tuple(types.CellType() for _ in code.co_freevars)
    outer = frame.source.function
    arguments = (code, outer.__globals__, code.co_name, tuple(defaults) or None, cells)
    function = types.FunctionType(*arguments)
    function.__kwdefaults__ = keyword_defaults
    return InnerFunction(Source(function, tree, frame.source.filename, frame.source.lines), frame)


def code_of(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> types.CodeType | None:
    """The compiled form of a function inside the one that runs."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    alike = [code for code in codes_in(frame.source.function.__code__)
             if code.co_name == name and names_of(code) == parameters(node)]  # fmt: skip
    on_line = [code for code in alike if code.co_firstlineno == first_line(node)]
    found = on_line or alike
    return found[0] if found else None


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    return (item for item in code.co_consts if isinstance(item, types.CodeType))


def names_of(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return tuple(argument.arg for argument in every)


def first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
