"""What a student's file tells about a mistake, besides its results: read from its text."""

import ast
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lessons.course.exercises import exercise_text
from lessons.course.lesson import Lesson
from lessons.grading.explain.never_stored import stores_in, told_of_store
from lessons.grading.walls.submission import code_of
from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import Student
from lessons.mutations.scope import names_in
from lessons.mutations.source import Source

OF_BLOCKS = ("grid", "blockIdx")
GIVEN: dict[str, dict[str, str]] = {}  # lesson -> see `given_functions`
MOST_NAMES = 3  # that a sentence lists


class Clues(NamedTuple):
    own_launch: bool = False  # whether the launch function is not the one that was given
    counts_blocks: bool = False  # whether the kernel asks for the number of its block
    racing_sum: bool = False  # whether it adds to elements with +=, where no race would be seen
    adds_atomically: bool = False  # whether it has cuda.atomic.add
    stores_in_loops: bool = True  # whether it has a loop
    has_conditions: bool = True  # whether it has an `if`
    lengths: frozenset[int] = frozenset()  # of all axes of the arrays that the last run was given
    left_out: str = ""  # which `if` of the kernel leaves elements of the result unwritten


NO_CLUES = Clues()


def clues_of(
    lines: Sequence[str], lesson: Lesson, ran: Iterable[str], needs: Iterable[str], checked: bool
) -> Clues:
    """The clues of a run.

    lines: of the file. ran: the functions that were run; if the file has none of them, needs: those
    of the check. checked: whether the simulator ran them, where a race is a finding of its own.
    """
    text = "\n".join(lines)
    functions = functions_of(text, ran) or functions_of(text, needs)
    names = [set(names_in(one)) for one in functions]
    nodes = [node for one in functions for node in ast.walk(one)]
    return Clues(
        own_launch=own_launch(text, lesson),
        counts_blocks=any(not one.isdisjoint(OF_BLOCKS) for one in names),
        racing_sum=not checked and any(map(adds_to_an_element, nodes)),
        adds_atomically=any({"atomic", "add"} <= one for one in names),
        stores_in_loops=any(isinstance(node, (ast.For, ast.While)) for node in nodes),
        has_conditions=any(isinstance(node, ast.If) for node in nodes),
    )


def adds_to_an_element(node: ast.AST) -> bool:
    """Whether this is `array[i] += ...`, in which others' additions can get lost."""
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript)


def own_launch(text: str, lesson: Lesson) -> bool:
    """Whether a launch function of the file is not as the exercise came with it."""
    mine, given = Source(text).functions(), given_functions(lesson)
    names = [name for name in given if name in mine and name.startswith("launch_")]
    return any(statements_of(mine[name]) != given[name] for name in names)


def given_functions(lesson: Lesson) -> dict[str, str]:
    """name -> what each function of the exercise does, as it came."""
    if lesson.name not in GIVEN:
        functions = Source(exercise_text(lesson)).functions()
        GIVEN[lesson.name] = {name: statements_of(node) for name, node in functions.items()}
    return GIVEN[lesson.name]


def functions_of(text: str, names: Iterable[str]) -> list[ast.FunctionDef]:
    """Those of a file with these names, and all of the file that they use."""
    functions = Source(text).functions()
    waiting, found = list(names), dict[str, ast.FunctionDef]()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found[name] = functions[name]
            waiting += names_in(functions[name])
    return list(found.values())


def changed_input(
    lines: Sequence[str], function: str, arguments: Sequence[object], changed: object
) -> str:
    """A sentence on an input, `changed`, that the student's function has written to."""
    names = names_of_arguments(Source("\n".join(lines)).functions(), function, arguments)
    pairs = list(zip(names, arguments, strict=True))
    inputs = [name for name, argument in pairs if argument is changed]
    outputs = [name for name, argument in pairs if isinstance(argument, Output)]
    what = f"{inputs[0]}, the" if inputs else "the"
    shape = getattr(changed, "shape", ())
    sentence = f"an input was changed, {what} array of shape {shape}: inputs are only read"
    if not 1 <= len(outputs) <= MOST_NAMES:
        return sentence
    return f"{sentence}. Results go into {' and '.join(outputs)}"


def left_out_by(
    lines: Sequence[str], function: str, arguments: Sequence[object], result: object
) -> str:
    """A sentence on the `if` with == that guards all stores into a result; or ""."""
    functions = Source("\n".join(lines)).functions()
    kernel = functions.get(function.removeprefix("launch_"))
    pairs = zip(names_of_arguments(functions, function, arguments), arguments, strict=True)
    name = next((name for name, argument in pairs if argument is result), "")
    stores = list(stores_in(kernel.body, name, 0)) if kernel and name else []
    if not stores or not all(store.guard for store in stores):
        return ""
    equal = re.search(r"[=!]=", lines[stores[-1].guard - 1])
    return told_of_store(stores[-1]._replace(returns=0), name, lines, "") if equal else ""


def names_of_arguments(
    functions: dict[str, ast.FunctionDef], function: str, arguments: Sequence[object]
) -> list[str]:
    """A name for each argument; those of a kernel that the function is handed."""
    parameters = {name: [one.arg for one in node.args.args] for name, node in functions.items()}
    count = len(arguments)
    names = parameters.get(function, [])[:count]
    handed = [place for place, value in enumerate(arguments) if isinstance(value, Student)]
    kernel = arguments[handed[0]].name if len(handed) == 1 else ""  # type: ignore[attr-defined]
    if kernel and len(parameters.get(kernel, [])) == count - 1:
        names = list(parameters[kernel])
        names.insert(handed[0], kernel)
    return [*names, *(f"argument {number}" for number in range(len(names) + 1, count + 1))]


# ---------------------------------------------------------------- given functions


def given_function_at(line: int, text: str, lesson: Lesson) -> str:
    """The name of the given function that a line of a file is in; "" if it is the student's own.

    No mistake is in a function that is as the exercise came with it.
    """
    name = function_at(line, text)
    given = "" if name in lesson.blank else given_functions(lesson).get(name, "")
    return name if given and statements_of(Source(text).functions()[name]) == given else ""


def function_at(line: int, text: str) -> str:
    """The name of the function that a line of a file is in; "" if it is in none."""
    for name, node in Source(text).functions().items():
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if first <= line <= (node.end_lineno or node.lineno):
            return name
    return ""


def statements_of(function: ast.FunctionDef) -> str:
    """What it does, without its docstring."""
    body = function.body
    if len(body) > 1 and ast.get_docstring(function) is not None:
        body = body[1:]
    bare = ast.FunctionDef(**{**dict(ast.iter_fields(function)), "body": body})
    return code_of(ast.copy_location(bare, function))
