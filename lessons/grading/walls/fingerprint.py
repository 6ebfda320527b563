"""What a file's code does, without names, comments and formatting: to compare it with other code.

A file is a set of runs of `RUN` neighbouring nodes of the syntax trees of its functions, in which
their own names are numbered in the order in which they come.
"""

import ast
import builtins
from collections.abc import Iterator

from lessons.course.exercises import START, exercise_text, solution_text
from lessons.course.lesson import Lesson
from lessons.course.source_text import is_too_long, syntax_tree
from lessons.grading.walls.submission import unusual_code

RUN = 12  # nodes
MIN_RUNS = 20  # a file with less says nothing
ENOUGH_TO_TELL = 150  # runs of a solution that nobody writes a second time by chance
MAX_NODES = 50_000  # of a file; more is not looked at

Fingerprint = frozenset[int]


def remarks_on(text: str, lesson: Lesson) -> list[str]:
    """Lines about a file that a person should read; none for most files. No point is lost."""
    if is_too_long(text):
        return ["too long to be read, by a program or by a person"]
    lines = unusual_code(text)
    if is_our_solution(text, lesson):
        lines.append("the code is that of our solution, but for names and comments")
    return lines


def is_our_solution(text: str, lesson: Lesson) -> bool:
    """Whether a file's code is that of our solution, but for names and comments.

    False for lessons whose solution is so short that others write the same.
    """
    if (lesson.folder / START).exists():
        return False  # a handout has no solutions to compare with
    given = fingerprint(exercise_text(lesson))
    ours = fingerprint(solution_text(lesson)) - given
    return len(ours) >= ENOUGH_TO_TELL and fingerprint(text) - given == ours


def similarity(first: Fingerprint, second: Fingerprint) -> float:
    """The share of runs in common, 0 to 1."""
    return len(first & second) / max(1, len(first | second))


def fingerprint(text: str) -> Fingerprint:
    """The runs of a file's functions; empty for a file that is no Python."""
    tree = None if is_too_long(text) else syntax_tree(text)
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
        # In hexadecimal: Python writes out no more than 4,300 digits of a whole number otherwise.
        text = hex(node.value) if type(node.value) is int else repr(node.value)
        return f"{kind} {text:.40}"
    if isinstance(node, ast.Attribute):
        return f"{kind} {node.attr}"
    name = getattr(node, "id", None) or getattr(node, "arg", None)
    if not isinstance(name, str):
        return kind
    if hasattr(builtins, name) or name in ("cuda", "math", "np"):
        return f"{kind} {name}"
    return f"{kind} {numbers.setdefault(name, len(numbers))}"
