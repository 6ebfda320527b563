"""How the native engine says that it cannot run a kernel."""

import ast
from typing import NoReturn

from kernels.errors import InputError
from lessons.lab.cells import file_label
from lessons.lab.source import Source


class NativeRefusal(InputError):
    """The kernel does something that cannot be done one thread after another."""


def refuse(source: Source, node: ast.expr | ast.stmt, what: str) -> NoReturn:
    raise NativeRefusal(
        f"{place(source, node)}: the native engine runs one thread after another and cannot do "
        f"{what}; use checked_run, which can"
    )


def place(source: Source, node: ast.expr | ast.stmt) -> str:
    return f"{file_label(source.filename)}, line {node.lineno}"
