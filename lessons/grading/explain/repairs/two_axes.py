"""Lines of a function that say the same of two axes, of which one has a slip: as the other one.

row = y * stride + ky - padding
column = x * stride + kx + padding        # as the line above: - padding
"""

import ast
from collections.abc import Iterator
from itertools import permutations

from lessons.grading.explain.repairs.beside import WORDS
from lessons.mutations.scope import pairs_of
from lessons.mutations.source import Change, Source

KIND = "other axis"
AXES = (
    "y x", "row column", "row col", "rows columns", "rows cols", "height width", "h w", "v u",
    "top left", "bottom right", "down across",
)  # fmt: skip
REACH = 8  # lines from one to the other
MOST_APART = 0.6  # of the words of two such lines


def as_the_other_axis(function: ast.FunctionDef, source: Source) -> Iterator[Change]:
    """Changes of one expression each, with that of the other axis for a model."""
    known = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for model, value in permutations(values_in(function), 2):
        if abs(model[1].lineno - value[1].lineno) > REACH:
            continue
        words, mine = (WORDS.findall(source.text_of(one[1])) for one in (model, value))
        if len(words) == len(mine):
            new = with_operators_of(words, mine)
        elif value[0] == other_axis(model[0], known):
            new = [other_axis(word, known) for word in words]
        else:
            continue
        if new not in (mine, words):
            told = f"with the expression made as that of line {model[1].lineno}"
            yield source.change(value[1], f"({' '.join(new)})", KIND, told)


def values_in(function: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """(name, what it is given) of the assignments of a function, `a, b = c, d` one by one."""
    pairs = (pair for node in ast.walk(function) if isinstance(node, ast.Assign)
             for pair in pairs_of(node))  # fmt: skip
    return [(ast.unparse(name), value) for name, value in pairs if isinstance(value, ast.BinOp)]


def with_operators_of(model: list[str], mine: list[str]) -> list[str]:
    """My words, with the model's operators; as they are if the lines do not say the same."""
    apart = sum(a != b for a, b in zip(model, mine, strict=True))
    if apart > MOST_APART * len(mine):
        return mine
    pairs = zip(model, mine, strict=True)
    return [b if a[0].isalnum() or b[0].isalnum() else a for a, b in pairs]


def other_axis(word: str, known: set[str]) -> str:
    """The word for the other axis, if there is such a name."""
    for pair in AXES:
        for one, other in permutations(pair.split()):
            if word == one or (len(one) == 1 and one in word and len(word) < 4):
                new = word.replace(one, other)
                if new in known:
                    return new
            new = "_".join(other if part == one else part for part in word.split("_"))
            if new in known - {word}:
                return new
    return word
