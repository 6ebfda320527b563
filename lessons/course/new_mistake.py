"""Make an entry of `mistakes.diff` from a student's file: what is different from our functions."""

import ast
import difflib
import textwrap
from collections.abc import Iterator, Sequence

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.exercises import SourceFile
from lessons.course.lesson import Lesson
from lessons.course.mistakes import (
    ANEW,
    BESIDE,
    MISTAKES,
    bare_functions,
    bare_lines,
    entries,
    position,
)

WIDTH = 100


def entry_text(lesson: Lesson, head: str, sentence: str, text: str) -> str:
    """An entry as it stands in `mistakes.diff`. Raises `InputError` if nothing is different."""
    parts = list(parts_of(lesson, SourceFile(text, None)))
    if not parts:
        raise InputError("this file has our functions, and nothing else: what is the mistake?")
    return "\n".join([f"=== {head}", *textwrap.wrap(sentence, WIDTH), *parts]) + "\n"


def parts_of(lesson: Lesson, file: SourceFile) -> Iterator[str]:
    """The lines below the sentence."""
    ours = bare_functions(lesson)
    beside = list(lines_beside(file, ours))
    if beside:
        yield from [f"@@ {BESIDE}", *(f"+{line}" for line in beside)]
    for name, node in file.functions.items():
        if name not in ours:
            continue
        lines = bare_lines(file.text_of(node))
        changes = difference(ours[name], lines)
        if changes is None or len(changes) > len(lines):
            yield from [f"@@ {name}{ANEW}", *(f"+{line}" for line in lines)]
        elif changes:
            yield from [f"@@ {name}", *changes]


def lines_beside(file: SourceFile, ours: dict[str, list[str]]) -> Iterator[str]:
    """Imports, constants and helpers of a file."""
    has_docstring = ast.get_docstring(file.tree) is not None
    for node in file.tree.body[has_docstring:]:
        if isinstance(node, ast.FunctionDef):
            if node.name not in ours:
                yield from bare_lines(file.text_of(node))
        else:
            yield from file.text_of(node).split("\n")


def difference(ours: Sequence[str], lines: Sequence[str]) -> list[str] | None:
    """The lines of a patch that makes `lines` of `ours`; None if it cannot say where."""
    found = []
    end = 0  # of what has been changed
    matcher = difflib.SequenceMatcher(None, ours, lines, autojunk=False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            continue
        above = start if kind != "insert" else start - 1
        while above >= end and position(ours, ours[above:stop], end) != above:
            above -= 1
        if above < end:
            return None
        found += [f" {line}" for line in ours[above:start]]
        found += [f"-{line}" for line in ours[start:stop]]
        found += [f"+{line}" for line in lines[first:last]]
        end = stop
    return found


def insert(lesson: Lesson, name: str, check: str, text: str) -> None:
    """Write an entry into `mistakes.diff`: in the order of the checks, and then by name."""
    path = lesson.folder / MISTAKES
    order = [one.name for one in lesson.checks]
    key = order.index(check), name
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    for entry in entries(lesson):
        if entry.kind == "wrong" and (order.index(entry.check), entry.name) > key:
            start = f"=== {entry.name} |"
            before, _, after = old.partition(start)
            new = f"{before}{text}\n{start}{after}"
            break
    else:
        new = f"{old.rstrip()}\n\n{text}".lstrip()
    write_atomically(path, lambda file: file.write(new.encode("utf-8")))
