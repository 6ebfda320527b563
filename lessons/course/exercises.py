"""Make exercise.py out of kernels/: the reference, with the bodies that a student writes left out.

The solution of a lesson is the function in `kernels/`, never a second copy. An exercise keeps each
function's signature and docstring, and the imports that the reference needs. Comments on lines of
their own stay as well in those functions that lesson.toml lists as `keep_comments`: there they say
what to think of. Elsewhere they speak of a line that is left out, and go with it.

    python -m lessons.course.exercises          write exercise.py of lessons that have none
    python -m lessons.course.exercises --all    write every one anew, and keep a copy of yours
"""

import argparse
import ast
import functools
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT, Lesson, lessons
from lessons.course.source_text import parsed, source_lines, syntax_tree

START = "start.txt"  # in a handout, where nothing is there to make an exercise of
NOT_WRITTEN = 'raise NotImplementedError("write me")'
LINE_LENGTH = 100
USUAL_IMPORTS = """import math
import numpy as np
from numba import cuda, float32, float64, int32, int64, njit, uint32, uint64
from numba.extending import register_jitable
"""


def exercise_text(lesson: Lesson) -> str:
    """What exercise.py of a `Lesson` holds before the student has written anything."""
    start = lesson.folder / START
    if start.exists():
        return start.read_text(encoding="utf-8")
    return assemble(lesson, lesson.blank)


def solution_text(lesson: Lesson) -> str:
    """The same file with nothing left out: the reference."""
    return assemble(lesson, ())


def with_functions(lesson: Lesson, text: str) -> str:
    """The solution with the functions of a Python text in the place of its own.

    Whatever else stands at the top of that text (constants, functions of another name) is added.
    A name that it does not import is taken from where our files have it, or is a usual one.
    """
    return assemble(lesson, (), SourceFile(text, None))


def unwritten(text: str, names: Sequence[str]) -> list[str]:
    """Those of `names` that are missing in a Python text, or have a body that does nothing.

    Such a body is a docstring, `pass`, `...`, `raise NotImplementedError`, or any of them together.
    A text that is no Python has nothing unwritten: it has an error, which running it will tell.
    """
    tree = syntax_tree(text)
    if tree is None:
        return []
    bodies = {node.name: node.body for node in tree.body if isinstance(node, ast.FunctionDef)}
    written = {name for name, body in bodies.items() if not all(map(does_nothing, body))}
    # A name may be given otherwise: grayscale = cuda.jit(...), or an import.
    written |= set(assigned_names(tree)) | set(imported_names(tree))
    return [name for name in names if name not in written]


def does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def kernels_of(lesson: Lesson) -> list[str]:
    """The kernels that a student writes in a lesson; in one without kernels, its functions."""
    tree = parsed(exercise_text(lesson))
    written = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in lesson.blank
    ]
    kernels = [
        node.name
        for node in written
        if any(ast.unparse(decorator) == "cuda.jit" for decorator in node.decorator_list)
    ]
    return kernels or [node.name for node in written]


# ---------------------------------------------------------------- putting the file together


class Import(NamedTuple):
    """`import module as name` if `source` is None, else `from module import source as name`."""

    module: str
    source: str | None
    name: str


class SourceFile:
    """A Python text, its top-level functions, and where each name it uses comes from."""

    def __init__(self, text: str, module: str | None) -> None:
        self.lines = source_lines(text)
        self.tree = parsed(text)
        self.module = module  # dotted name from which the rest of it can be imported
        self.imports = imported_names(self.tree)
        self.assigned = set(assigned_names(self.tree))
        self.functions = {
            node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)
        }

    def text_of(self, node: ast.stmt) -> str:
        """A statement with its decorators and the comments right above it."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        while first > 1 and self.lines[first - 2].startswith("#"):
            if self.lines[first - 2].startswith("# ---"):
                break
            first -= 1
        return "\n".join(self.lines[first - 1 : last_line(node)])

    def extras(self) -> list[ast.stmt]:
        """Top-level statements that are neither functions, imports nor the docstring."""
        skipped = (ast.FunctionDef, ast.Import, ast.ImportFrom)
        has_docstring = ast.get_docstring(self.tree) is not None
        return [node for node in self.tree.body[has_docstring:] if not isinstance(node, skipped)]


def our_file(name: str, module: str) -> SourceFile:
    """A file of the project. It is not to be changed: who asks again gets the same one."""
    return parsed_file((ROOT / name).read_text(encoding="utf-8"), module)


# Known mistakes are all made of the same few files.
@functools.lru_cache(maxsize=64)
def parsed_file(text: str, module: str) -> SourceFile:
    return SourceFile(text, module)


class Piece(NamedTuple):
    """A part of the file to be made, and where it comes from."""

    text: str
    origins: Sequence[SourceFile]  # which say where a name comes from; the first that knows it does
    node: ast.stmt


def assemble(lesson: Lesson, blank: Sequence[str], replacement: SourceFile | None = None) -> str:
    """A whole file: without the bodies of `blank`, and with the functions of `replacement`."""
    files = [our_file(part.file, part.module) for part in lesson.parts]
    pieces = []
    held = set()
    for part, file in zip(lesson.parts, files, strict=True):
        for name in part.functions:
            origin = replacement if replacement and name in replacement.functions else file
            node = origin.functions[name]
            text = origin.text_of(node)
            if name in blank:
                text = blanked(origin, node, name in lesson.keep_comments)
            pieces.append(
                Piece(text, (origin, file, *files, usual_names()) if replacement else (file,), node)
            )
            held.add(name)
    if replacement:
        pieces[:0] = additions(replacement, held, files)
        held |= {*replacement.functions, *replacement.assigned}
    wanted = {
        found
        for piece in pieces
        for name in names_in(piece.node)
        if name not in held and (found := first_import(piece.origins, name))
    }
    header = f'"""{lesson.header.rstrip()}\n"""'
    body = "\n\n\n".join(piece.text for piece in pieces)
    top = "\n\n".join(part for part in (header, import_lines(wanted)) if part)
    return f"{top}\n\n\n{body}\n"


def additions(file: SourceFile, held: set[str], files: Sequence[SourceFile]) -> list[Piece]:
    """What a file of wrong functions has besides the functions it replaces."""
    helpers = [node for name, node in file.functions.items() if name not in held]
    added = sorted([*file.extras(), *helpers], key=lambda node: node.lineno)
    return [Piece(file.text_of(node), (file, *files, usual_names()), node) for node in added]


def blanked(file: SourceFile, node: ast.FunctionDef, keep_comments: bool) -> str:
    """The text of a function without its body, but for the docstring, and comments if wanted."""
    first = node.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    last_kept = last_line(first) if has_docstring else first.lineno - 1
    text = source_lines(file.text_of(node))
    kept = text[: len(text) - (last_line(node) - last_kept)]
    indent = " " * first.col_offset
    body = file.lines[last_kept : last_line(node)]
    comments = comment_paragraphs(body, indent) if keep_comments else []
    return "\n".join([*kept, *comments, indent + NOT_WRITTEN])


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def comment_paragraphs(lines: Sequence[str], indent: str) -> list[str]:
    """Whole-line comments, each group of neighbouring lines followed by an empty line."""
    result: list[str] = []
    previous = None
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped.startswith("#"):
            continue
        if previous is not None and number != previous + 1:
            result.append("")
        result.append(indent + stripped)
        previous = number
    return result


# ---------------------------------------------------------------- names and imports


@functools.lru_cache(maxsize=512)  # known mistakes are all made of the same few functions
def names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def imported_names(tree: ast.Module) -> dict[str, Import]:
    """name -> `Import`, for the imports at the top of a file."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = Import(alias.name, None, name)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = Import(node.module or "", alias.name, name)
    return found


def assigned_names(tree: ast.Module) -> Iterator[str]:
    """Names that a file's top-level assignments and classes define."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        for target in getattr(node, "targets", ()):
            for inner in ast.walk(target):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


@functools.cache
def usual_names() -> SourceFile:
    """What functions in the place of ours may use without saying where it comes from."""
    return SourceFile(USUAL_IMPORTS, None)


def first_import(files: Iterable[SourceFile], name: str) -> Import | None:
    return next((found for file in files if (found := where_from(file, name))), None)


def where_from(file: SourceFile, name: str) -> Import | None:
    """The `Import` that makes `name` known in another file, or None for builtins and locals."""
    if name in file.imports:
        return file.imports[name]
    if file.module and (name in file.functions or name in file.assigned):
        return Import(file.module, name, name)
    return None


def import_lines(wanted: Iterable[Import]) -> str:
    """Import statements: the standard library first, then packages, then the project."""
    groups: list[list[str]] = [[], [], []]
    sources: dict[str, list[str]] = {}
    for module, source, name in sorted(wanted, key=lambda entry: (entry.module, entry.name)):
        if source is None:
            renamed = f" as {name}" if name != module else ""
            groups[rank(module)].append(f"import {module}{renamed}")
        else:
            renamed = f" as {name}" if name != source else ""
            sources.setdefault(module, []).append(source + renamed)
    for module, names in sources.items():
        groups[rank(module)].append(from_import(module, names))
    return "\n\n".join("\n".join(group) for group in groups if group)


def rank(module: str) -> int:
    """Which group of imports a module belongs to."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return 0
    return 2 if top in ("kernels", "lessons") else 1


def from_import(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= LINE_LENGTH:
        return line
    inside = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{inside})"


# ---------------------------------------------------------------- writing


def write_exercise(lesson: Lesson) -> None:
    """Write exercise.py of a lesson as it is before the student begins."""
    write_whole(lesson.exercise, exercise_text(lesson).encode("utf-8"))


def write_whole(path: Path, text: bytes) -> None:
    write_atomically(path, lambda file: file.write(text))


def write_solutions(chosen: Iterable[Lesson], folder: Path, overwrite: bool = False) -> None:
    """Write our solution of each lesson as FOLDER/NN_name.py; the folder is made.

    Raises `InputError` if it cannot be written, or if another file has that name already; with
    overwrite, such a file is replaced.
    """
    texts = {folder / f"{one.name}.py": solution_text(one).encode("utf-8") for one in chosen}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            if path.exists() and path.read_bytes() != text and not overwrite:
                raise InputError(f"{path} exists already, and is another: add --overwrite")
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
    for path, text in texts.items():
        write_whole(path, text)


def keep_backup(path: Path) -> Path:
    """Copy a file to a name that is free beside it. Raises `InputError` if that is impossible."""
    numbers = (path.with_name(f"{path.name}.bak-{number}") for number in itertools.count(1))
    backup = next(candidate for candidate in numbers if not os.path.lexists(candidate))
    try:
        shutil.copy2(path, backup)
    except OSError as error:
        raise InputError(f"no backup can be written to {backup}: {error.strerror}") from None
    return backup


def main() -> None:
    parser = argparse.ArgumentParser(description="Write exercise.py of lessons that have none.")
    parser.add_argument("--all", action="store_true", help="of every lesson; yours is kept")
    every = parser.parse_args().all
    for lesson in lessons():
        path = lesson.exercise
        if path.exists() and not every:
            continue
        if path.exists() and path.read_bytes() != exercise_text(lesson).encode("utf-8"):
            print(f"your file is kept as {keep_backup(path).relative_to(ROOT)}")
        write_exercise(lesson)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
