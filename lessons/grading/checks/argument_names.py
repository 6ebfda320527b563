"""What a student's function calls the arguments that a check hands to it."""

import ast
from collections.abc import Sequence

from lessons.course.source_text import syntax_tree
from lessons.grading.exchange.output import Output
from lessons.grading.exchange.protocol import Student
from lessons.grading.untrusted.submission import Submission

MOST_NAMES = 3  # that a sentence lists


def names_of_arguments(
    submission: Submission, function: str, arguments: Sequence[object]
) -> list[str]:
    """A name for each argument; those of a kernel that the function is handed."""
    tree = syntax_tree("\n".join(submission.lines))
    functions = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, ast.FunctionDef)
    }
    count = len(arguments)
    names = functions.get(function, [])[:count]
    handed = [value.name for value in arguments if isinstance(value, Student)]
    if len(handed) == 1 and len(functions.get(handed[0], [])) == count - 1:
        place = next(i for i, v in enumerate(arguments) if isinstance(v, Student))
        names = list(functions[handed[0]])
        names.insert(place, handed[0])
    return [*names, *(f"argument {number}" for number in range(len(names) + 1, count + 1))]


def told_changed_input(
    submission: Submission, function: str, arguments: Sequence[object], changed: object
) -> str:
    """A sentence on an input, `changed`, that the student's function has written to."""
    names = names_of_arguments(submission, function, arguments)
    pairs = list(zip(names, arguments, strict=True))
    inputs = [name for name, argument in pairs if argument is changed]
    outputs = [name for name, argument in pairs if isinstance(argument, Output)]
    shape = getattr(changed, "shape", ())
    what = f"{inputs[0]}, the" if inputs else "the"
    sentence = f"an input was changed, {what} array of shape {shape}: inputs are only read"
    if not 1 <= len(outputs) <= MOST_NAMES:
        return sentence
    return f"{sentence}. Results go into {' and '.join(outputs)}"
