"""Which functions of a student's file a mistake can be in."""

import ast
from collections.abc import Sequence

from lessons.grading.repairs.source import Source

# Of what is searched: comparing it takes the square of its size. Behind each, what the largest of
# all right and wrong files of the lessons has.
MOST_SUSPECTS = 40  # functions, 32
MOST_NODES = 2_500  # of a function, 1,200
MOST_STATEMENTS = 200  # 91
LONGEST_LINE = 400  # letters, 116


def suspects(
    source: Source, given: Source, needs: Sequence[str], blank: Sequence[str]
) -> list[ast.FunctionDef]:
    """The functions that a mistake can be in: those needed, then helpers, then changed ones."""
    as_given = {name: ast.dump(node) for name, node in given.functions().items()}
    other = set(blank) - set(needs)
    found = [
        node
        for name, node in source.functions().items()
        if name not in other and is_bearable(node, source) and as_given.get(name) != ast.dump(node)
    ]
    found.sort(key=lambda node: needs.index(node.name) if node.name in needs else 99)
    return found[:MOST_SUSPECTS]


def is_bearable(function: ast.FunctionDef, source: Source) -> bool:
    """Whether a function is of a size that is searched in a second or so."""
    nodes = list(ast.walk(function))
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    longest = max(map(len, source.text_of(function).splitlines()))
    return len(nodes) <= MOST_NODES and statements <= MOST_STATEMENTS and longest <= LONGEST_LINE
