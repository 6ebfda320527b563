"""Which functions of a file are as the exercise came with them: no mistake is in these."""

import ast
from collections.abc import Iterator

from lessons.course.exercises import exercise_text
from lessons.course.lesson import Lesson
from lessons.course.source_text import syntax_tree
from lessons.grading.walls.submission import code_of


def given_function_at(line: int, text: str, lesson: Lesson) -> str:
    """The name of the given function that a line of a file is in; "" if it is the student's own."""
    node = next(
        (one for one in functions_in(text) if first_line(one) <= line <= last_line(one)), None
    )
    if node is None or node.name in lesson.blank:
        return ""
    given = {one.name: one for one in functions_in(exercise_text(lesson))}
    is_as_given = node.name in given and statements_of(node) == statements_of(given[node.name])
    return node.name if is_as_given else ""


def functions_in(text: str) -> Iterator[ast.FunctionDef]:
    tree = syntax_tree(text)
    return (node for node in (tree.body if tree else []) if isinstance(node, ast.FunctionDef))


def statements_of(function: ast.FunctionDef) -> str:
    """What it does, without its docstring."""
    body = function.body
    if len(body) > 1 and ast.get_docstring(function) is not None:
        body = body[1:]
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(function)), "body": body})
    return code_of(ast.copy_location(bare, function))


def first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def last_line(function: ast.FunctionDef) -> int:
    return function.end_lineno or function.lineno
