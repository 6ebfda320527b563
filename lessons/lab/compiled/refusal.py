"""How the native engine says that it cannot run a kernel."""

import ast
from typing import NoReturn

from ..cells import file_label
from ..errors import InputError
from ..source import Source


class NativeRefusal(InputError):
    """The kernel does something that this engine cannot do."""


def refuse(source: Source, node: ast.expr | ast.stmt, what: str) -> NoReturn:
    raise NativeRefusal(f"{place(source, node)}: the native engine cannot do {what}")


def place(source: Source, node: ast.expr | ast.stmt) -> str:
    return f"{file_label(source.filename)}, line {node.lineno}"
