"""A student's file: its text, and what in it a person should look at."""

import ast
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from lessons.course.exercises import exercise_text
from lessons.course.lesson import Lesson
from lessons.course.source_text import as_utf8, source_lines, syntax_tree

MAX_SOURCE = 1 << 18  # bytes; the longest of our own files has 10,000
USUAL_MODULES = ("__future__", "kernels", "math", "numba", "numpy", "typing")
OF_BLOCKS = ("grid", "blockIdx")
OF_A_BLOCK = {"blockDim", "THREADS"}  # how many threads a block has
GIVEN_LAUNCHES: dict[str, dict[str, str]] = {}  # lesson -> those that its exercise came with
UNUSUAL_NAMES = ("__import__", "compile", "eval", "exec", "globals", "open", "setattr", "vars")


class Refused(Exception):
    """A file that is not read; the message says why."""


class Submission(NamedTuple):
    """A student's file for one lesson."""

    path: Path
    text: bytes | None  # UTF-8; None: there is no such file

    @property
    def lines(self) -> list[str]:
        return source_lines((self.text or b"").decode("utf-8", "replace"))

    @property
    def digest(self) -> str:
        """SHA-256 of what is graded."""
        return hashlib.sha256(self.text or b"").hexdigest()

    @staticmethod
    def read(path: Path) -> "Submission":
        """The file as UTF-8, whatever it was written in; not if it has over `MAX_SOURCE` bytes."""
        try:
            return Submission(path, as_utf8(read_plain_file(path, MAX_SOURCE)))
        except (OSError, Refused):
            return Submission(path, None)


def read_plain_file(path: Path, limit: int) -> bytes:
    """The bytes of a file. Raises `OSError`, and `Refused` for a link, a pipe or too much."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Refused("no plain file: not read")
        return read_at_most(file, limit)


def read_at_most(file: IO[bytes], limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise Refused(f"more than {limit:,} bytes: not read")
    return content


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


# ---------------------------------------------------------------- clues to a mistake


def own_launch(text: str, lesson: Lesson) -> bool:
    """Whether a launch function of the file is not as the exercise came with it."""
    mine = launch_functions(text)
    if lesson.name not in GIVEN_LAUNCHES:
        GIVEN_LAUNCHES[lesson.name] = launch_functions(exercise_text(lesson))
    given = GIVEN_LAUNCHES[lesson.name]
    return any(mine[name] != given[name] for name in mine if name in given)


def launch_functions(text: str) -> dict[str, str]:
    """name -> the code of the functions `launch_...`, without comments and formatting."""
    tree = syntax_tree(text)
    body = tree.body if tree else []
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {node.name: code_of(node) for node in functions if node.name.startswith("launch_")}


def code_of(function: ast.FunctionDef) -> str:
    try:
        return ast.unparse(function)
    except (RecursionError, ValueError):
        # An expression of hundreds of terms, a number of thousands of digits: none that was given.
        return f"def {function.name}: ..."


def counts_blocks(text: str, names: Iterable[str]) -> bool:
    """Whether one of these functions, or what it calls of the file, has cuda.grid or blockIdx."""
    return any(not names_in(one).isdisjoint(OF_BLOCKS) for one in functions_of(text, names))


def numbers_as_usual(text: str, names: Iterable[str]) -> bool:
    """Whether one of these functions has cuda.grid, or blockIdx times the threads of a block."""
    nodes = [node for one in functions_of(text, names) for node in ast.walk(one)]
    return any(names_in(node) >= {"blockIdx"} for node in products_with_a_block(nodes)) or any(
        isinstance(node, ast.Attribute) and node.attr == "grid" for node in nodes
    )


def steps_by_blocks(text: str, names: Iterable[str]) -> bool:
    """Whether one of them has gridDim, and not times the threads of a block."""
    nodes = [node for one in functions_of(text, names) for node in ast.walk(one)]
    within = {id(part) for node in products_with_a_block(nodes) for part in ast.walk(node)}
    return any(
        isinstance(node, ast.Attribute) and node.attr == "gridDim" and id(node) not in within
        for node in nodes
    )


def products_with_a_block(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """Those that multiply something with the number of threads of a block."""
    return [
        node
        for node in nodes
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and names_in(node) & OF_A_BLOCK
    ]


def functions_of(text: str, names: Iterable[str]) -> list[ast.FunctionDef]:
    """Those of a file with these names, and all of the file that they use."""
    tree = syntax_tree(text)
    body = tree.body if tree else []
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    waiting, found = list(names), dict[str, ast.FunctionDef]()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found[name] = functions[name]
            waiting += names_in(functions[name])
    return list(found.values())


def names_in(node: ast.AST) -> set[str]:
    """All names in some code, and all that stands behind a point."""
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def adds_atomically(text: str, names: Iterable[str]) -> bool:
    """Whether one of these functions has cuda.atomic.add."""
    return any({"atomic", "add"} <= names_in(one) for one in functions_of(text, names))


def adds_to_elements(text: str, names: Iterable[str]) -> bool:
    """Whether these functions have `array[i] += ...`, in which others' additions can get lost."""
    return any(
        isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript)
        for one in functions_of(text, names)
        for node in ast.walk(one)
    )
