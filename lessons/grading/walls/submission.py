"""A student's file: its text, and what in it a person should look at."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lessons.course.source_text import as_utf8, read_plain_file, source_lines, syntax_tree

USUAL_MODULES = ("__future__", "kernels", "math", "numba", "numpy", "typing")
UNUSUAL_NAMES = ("__import__", "compile", "eval", "exec", "globals", "open", "setattr", "vars")


class Submission(NamedTuple):
    """A student's file for one lesson."""

    path: Path
    text: bytes | None  # UTF-8; None: there is no such file
    ours: tuple[str, ...] = ()  # functions that run in the place of its own

    @property
    def lines(self) -> list[str]:
        return source_lines((self.text or b"").decode("utf-8", "replace"))

    @property
    def digest(self) -> str:
        """SHA-256 of what is graded."""
        return hashlib.sha256(self.text or b"").hexdigest()

    @staticmethod
    def read(path: Path) -> "Submission":
        """The file as UTF-8, whatever it was written in; no text for what is no plain file."""
        try:
            return Submission(path, as_utf8(read_plain_file(path)))
        except OSError:
            return Submission(path, None)


def unusual_code(text: str) -> list[str]:
    """Lines such as "line 3: imports ctypes, which no exercise needs"; none for most files.

    Nothing is forbidden, and no point is lost. But a file can lie to the worker that it runs in,
    though not with `numba`, `numpy` and `math` alone: so a person should see these lines.
    """
    tree = syntax_tree(text)
    if tree is None:
        return []
    found = sorted(entry for node in ast.walk(tree) for entry in unusual_in(node))
    return [f"line {line}: {what}, which no exercise needs" for line, what in found]


def unusual_in(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Pairs of a line and what is unusual there, for one node of a file's syntax tree."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for module in imported_packages(node):
            if module not in USUAL_MODULES:
                yield node.lineno, f"imports {module}"
    if isinstance(node, ast.Name) and node.id in UNUSUAL_NAMES:
        yield node.lineno, f"uses {node.id}"
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        yield node.lineno, f"uses {node.attr}"


def imported_packages(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return [(node.module or "").partition(".")[0]]


def code_of(function: ast.FunctionDef) -> str:
    try:
        return ast.unparse(function)
    except (RecursionError, ValueError):
        # An expression of hundreds of terms, a number of thousands of digits: none that was given.
        return f"def {function.name}: ..."
