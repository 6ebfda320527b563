"""The words in which a student is told what came of a run."""

import ast
import re
from collections.abc import Iterable, Sequence

import numpy as np

from lessons.course.source_text import syntax_tree
from lessons.grading.outcome import Found
from lessons.grading.output import Output
from lessons.grading.protocol import Student

MOST_FINDINGS = 4


def call_text(function: str, arguments: tuple[object, ...]) -> str:
    return f"{function}({', '.join(map(brief, arguments))})"


def brief(argument: object) -> str:
    """An argument as a message shows it."""
    if isinstance(argument, Student):
        return argument.name
    if isinstance(argument, (Output, np.ndarray)):
        return f"array {argument.shape}"
    if isinstance(argument, (float, np.floating)):
        return f"{argument:.4g}"
    text = str(argument)
    return text if len(text) <= 24 else type(argument).__name__


def lines_of_findings(findings: Iterable[Found], source: Sequence[str]) -> list[str]:
    """A line for each finding, and below it the line of the student's file that it speaks of.

    source: the lines of that file. Equal findings at one line are told once.
    """
    distinct = list({(found.kind, found.line, found.message): found for found in findings}.values())
    distinct = causes(distinct)
    lines = []
    for found in distinct[:MOST_FINDINGS]:
        lines.append(f"line {found.line}: {found.kind}: {found.message}")
        if found.own:
            lines += quoted(found.line, source)
            lines += [f"  {advice}" for advice in more_advice(found, source)]
    if len(distinct) > MOST_FINDINGS:
        lines.append(f"and {len(distinct) - MOST_FINDINGS} more")
    return lines


def causes(findings: list[Found]) -> list[Found]:
    """Without the doubles that follow from others: "`x` is a double since line 5"."""
    first = [found for found in findings if found.kind != "slow" or not follows(found)]
    return first or [found for found in findings if found.own] or findings


def follows(found: Found) -> bool:
    return ("since line" in found.message and "is a double" in found.message) or not found.own


def more_advice(found: Found, source: Sequence[str]) -> list[str]:
    """What to try, where the line itself tells more than the finding."""
    since = re.search(r"since line (\d+)\)?", found.message)
    if found.kind == "slow" and since and int(since[1]) != found.line:
        first = quoted(int(since[1]), source)
        return [*(line.strip() for line in first), "begin it as a float32 there: float32(...)"]
    if found.kind == "uninitialised" and "local memory" in found.message:
        return ["cuda.local.array belongs to one thread; others read cuda.shared.array"]
    if found.kind == "compile" and any(name in found.message for name in ("np.zeros", "np.empty")):
        return ["what the threads of a block share is cuda.shared.array((TILE, TILE), float32)"]
    if "does not take (" in found.message and "an int64" in found.message:
        return ["cuda.grid gives an int64; with a uint64 that makes a float64: write uint64(...)"]
    if found.kind in ("compile", "unsupported") and divides_an_index(source[found.line - 1]):
        return ["a whole number is needed there: divide with //, which rounds down, not with /"]
    return []


def divides_an_index(line: str) -> bool:
    """Whether a line has a `/` within an index, or within what range() is given."""
    text = line.strip()
    tree = syntax_tree(text + " pass" if text.endswith(":") else text)
    if tree is None:
        return False
    for node in ast.walk(tree):
        inner: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            inner = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = node.args if node.func.id == "range" else []
        for part in inner:
            if any(isinstance(found, ast.Div) for found in ast.walk(part)):
                return True
    return False


def quoted(number: int | None, source: Sequence[str]) -> list[str]:
    """The line of the student's file with this number; nothing if there is none."""
    if number is None or not 1 <= number <= len(source) or not source[number - 1].strip():
        return []
    return [f"  {number} | {source[number - 1].strip()}"]
