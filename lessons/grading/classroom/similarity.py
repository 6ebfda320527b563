"""How alike submissions are, to each other and to our solution: by what their code does.

Compared is the structure: the syntax tree of the functions that a student writes, without comments,
docstrings and formatting, all names of their own numbered in the order in which they come. So
renaming and moving changes nothing. A file is a set of runs of `RUN` neighbouring nodes; two files
are as alike as the share of runs that they have in common. What every exercise gives counts for
nobody.

A number is no verdict: short kernels have few ways to be right. Look at pairs that stand out in
several lessons, and at mistakes that two have in common.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import Lesson
from lessons.course.source_text import syntax_tree
from lessons.grading.classroom.intake import Handed

RUN = 12  # nodes
MIN_RUNS = 20  # a file with less says nothing
SHOWN = 0.6  # pairs less alike are not listed
MAX_NODES = 50_000  # of a file; more is not looked at
SOLUTION = "(our solution)"

Fingerprint = frozenset[int]


class Pair(NamedTuple):
    """Two submissions to a lesson; the second may be our solution."""

    lesson: str
    first: str
    second: str
    alike: float  # 0 to 1
    same_mistakes: int  # checks that both failed with the same diagnosis


def similar_pairs(
    class_: Sequence[Handed],
    lessons: Sequence[Lesson],
    diagnoses: Mapping[tuple[str, str], Mapping[str, str]],
) -> list[Pair]:
    """The pairs that stand out, the most alike first.

    diagnoses: (student, lesson) -> check -> diagnosis, of the checks that failed.
    """
    pairs: list[Pair] = []
    for lesson in lessons:
        given = fingerprint(exercise_text(lesson))
        prints = {SOLUTION: fingerprint(solution_text(lesson)) - given}
        for handed in class_:
            file = handed.files.get(lesson.name)
            if file and file.text:
                found = fingerprint(file.text.decode("utf-8", "replace")) - given
                if len(found) >= MIN_RUNS:
                    prints[handed.student] = found
        pairs += pairs_in(lesson.name, prints, diagnoses)
    return sorted(pairs, key=lambda pair: (-pair.alike, pair))


def pairs_in(
    lesson: str,
    prints: Mapping[str, Fingerprint],
    diagnoses: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Pair]:
    names = sorted(prints)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            alike = similarity(prints[first], prints[second])
            if alike < SHOWN:
                continue
            student, other = (second, first) if first == SOLUTION else (first, second)
            mine, theirs = (diagnoses.get((name, lesson), {}) for name in (student, other))
            same = sum(theirs.get(check) == diagnosis for check, diagnosis in mine.items())
            yield Pair(lesson, student, other, round(alike, 3), same)


def similarity(first: Fingerprint, second: Fingerprint) -> float:
    """The share of runs in common, 0 to 1."""
    return len(first & second) / max(1, len(first | second))


def fingerprint(text: str) -> Fingerprint:
    """The runs of a file's functions; empty for a file that is no Python."""
    tree = syntax_tree(text)
    if tree is None:
        return frozenset()
    runs: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            words = list(words_of(node))
            runs.update(hash(tuple(words[i : i + RUN])) for i in range(len(words) - RUN + 1))
    return frozenset(runs)


def words_of(function: ast.FunctionDef) -> Iterator[str]:
    """What stands in a function, in order; its own names as numbers."""
    numbers: dict[str, int] = {}
    waiting: list[ast.AST] = [function]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, (ast.Load, ast.Store, ast.expr_context)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        yield word_of(node, numbers)
        waiting += reversed(list(ast.iter_child_nodes(node)))


def word_of(node: ast.AST, numbers: dict[str, int]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"{kind} {node.value!r:.40}"
    if isinstance(node, ast.Attribute):
        return f"{kind} {node.attr}"
    name = getattr(node, "id", None) or getattr(node, "arg", None)
    if not isinstance(name, str):
        return kind
    if hasattr(builtins, name) or name in ("cuda", "math", "np"):
        return f"{kind} {name}"
    return f"{kind} {numbers.setdefault(name, len(numbers))}"
