"""From the cells of a notebook to a lesson's file: what is work, what is an experiment."""

import ast

from lessons.course.exercises import SourceFile, exercise_text, import_lines, names_in
from lessons.course.lesson import Lesson
from lessons.course.source_text import parsed, source_lines

# What does nothing but give names. All else in a cell is an experiment, and not part of the work.
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)


def definitions(text: str) -> str:
    """The text with all but imports, functions and assignments left empty: no line moves."""
    lines = source_lines(text)
    for node in parsed(text).body:
        if not isinstance(node, DEFINITIONS) or is_magic(node):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines) + "\n"


def is_magic(node: ast.stmt) -> bool:
    """Whether it is `name = %something`, which only a notebook understands."""
    return any(isinstance(n, ast.Name) and n.id == "get_ipython" for n in ast.walk(node))


def completed(text: str, lesson: Lesson) -> str:
    """The text, and below it those functions of the lesson's exercise.py that it lacks."""
    given = SourceFile(exercise_text(lesson), None)
    here = SourceFile(text, None)
    added = [node for name, node in given.functions.items() if name not in here.functions]
    used = set().union(*map(names_in, added)) - set(here.imports)
    imports = import_lines({given.imports[name] for name in used & set(given.imports)})
    parts = [text.rstrip(), imports, *map(given.text_of, added)]
    return "\n\n\n".join(part for part in parts if part) + "\n"
