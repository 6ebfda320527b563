"""What is said of NaNs: for which inputs they come, and what in the file can make one."""

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lessons.grading.checks.answers import Returned, first_of_rows
from lessons.grading.checks.argument_names import names_of_arguments
from lessons.grading.untrusted.submission import Submission, functions_of

FEWEST = 2  # negative inputs that give NaN, and others that do not
LARGE = 10.0
MOST_DIVISIONS = 2  # lines that are told
OF_NEGATIVES = {"sqrt", "rsqrt", "log", "log2", "log10", "pow"}


class LastRun(NamedTuple):
    """What ran last: a launch function, or calls of a plain one."""

    function: str
    arguments: Sequence[object]
    answers: Sequence[Returned]
    checked: bool  # whether it would have ended where memory is read that nobody has written


def why_nan(run: LastRun, values: np.ndarray, expected: np.ndarray, submission: Submission) -> str:
    """What is said of values of which some are NaN, and should not be."""
    names = names_of_arguments(submission, run.function, run.arguments)
    inputs = inputs_of(values, run.answers, names, run.arguments)
    functions = functions_of("\n".join(submission.lines), [run.function])
    return told_nan(np.isnan(values) & ~np.isnan(expected), inputs, functions, run.checked)


def told_nan(
    bad: np.ndarray, inputs: Mapping[str, np.ndarray], functions: Sequence[ast.AST], checked: bool
) -> str:
    """What is said if some results, where `bad` is True, are no numbers.

    inputs: name -> numbers, one for each result. functions: of the file, that have run. checked:
    whether a run would have ended where memory is read that nobody has written.
    """
    where = next((told for name, v in inputs.items() if (told := for_which(bad, name, v))), "")
    divisions = divisions_in(functions)
    lines = [f"Line {line} divides by `{by}`." for line, by in divisions]
    if len(lines) > MOST_DIVISIONS or "is 0" not in where:
        lines = []
    if where:
        return " ".join([where, *lines])
    names = {getattr(n, "attr", getattr(n, "id", "")) for f in functions for n in ast.walk(f)}
    powers = any(isinstance(node, ast.Pow) for f in functions for node in ast.walk(f))
    causes = [
        "zero was divided by zero" if divisions or not functions else "",
        "a root or logarithm was taken of a negative number"
        if names & OF_NEGATIVES or powers or not functions
        else "",
        "there were numbers too large for float32",
        "" if checked else "memory was read that nobody had written",
    ]
    *others, last = [cause for cause in causes if cause]
    if not others:
        return (
            "There are NaNs: are there numbers too large for float32, and one of two that are "
            "infinite is divided by the other, or subtracted from it?"
        )
    return f"There are NaNs: {', '.join(others)}, or {last}."


def for_which(bad: np.ndarray, name: str, given: np.ndarray) -> str:
    """A sentence if the results are no numbers for some kind of inputs, and for no others."""
    if bad.all() or not bad.any() or not np.isfinite(given).all():
        return ""
    if (bad == (given == 0)).all():
        return (
            f"It is NaN where {name} is 0, and nowhere else: is something divided by 0 there, or a "
            "logarithm of 0 taken? A formula without that is right there, too."
        )
    negative = given < 0
    if (bad == negative).all() and min(bad.sum(), (~bad).sum()) >= FEWEST:
        return (
            f"It is NaN where {name} is negative, and nowhere else: is a root, a logarithm or a "
            "power taken of it?"
        )
    for sizes, words in ((np.abs(given), "in size"), (given, ""), (-given, "below zero")):
        least = float(sizes[bad].min())
        if least >= LARGE and least > sizes[~bad].max():
            return (
                f"It is NaN where {name} is {' '.join(filter(None, (f'{least:g}', words)))} or "
                "more, and nowhere else: are there numbers too large for float32, as of an "
                "exponential, or one of two that are infinite divided by the other?"
            )
    return ""


def divisions_in(functions: Sequence[ast.AST]) -> list[tuple[int, str]]:
    """(line, divisor) of each division by something that is no constant."""
    found = [
        (node.lineno, ast.unparse(node.right))
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod))
        and not is_constant(node.right)
    ]
    return sorted(set(found))


def is_constant(node: ast.expr) -> bool:
    """Whether it is made of numbers and of names in capitals, as float32(2) or SCALE are."""
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return all(name.isupper() or name == "float32" for name in names)


def inputs_of(
    values: np.ndarray, answers: Sequence[Returned], names: Sequence[str], given: Sequence[object]
) -> dict[str, np.ndarray]:
    """name -> the numbers that belong to the results, one by one.

    answers: of calls as plain Python. names, given: the arguments of the last run or call.
    """
    begin = first_of_rows(values, answers) if values.ndim == 1 else None
    if begin is None:
        return {
            name: array.astype(np.float64)
            for name, array in zip(names, given, strict=False)
            if isinstance(array, np.ndarray)
            and array.shape == values.shape
            and array.dtype.kind in "fiu"
        }
    rows = [one.arguments for one in answers[begin : begin + len(values)]]
    columns = zip(*rows, strict=False)
    return {
        name: np.array(column, np.float64)
        for name, column in zip(names, columns, strict=False)
        if all(isinstance(one, (int, float, np.number)) for one in column)
    }
