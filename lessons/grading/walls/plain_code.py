"""Which part of a student's file runs: what an exercise is made of, and nothing else.

A file shares its process with the simulator that looks for its races. Python has no walls within a
process: with `sys`, `gc`, a frame or an attribute such as `__globals__`, a file could drop what is
found. So it gets none of these. What a kernel needs stays: `numba`, `numpy`, `math`, the constants
and functions of `kernels/`, and all of Python's language but for its inner names.

Statements that use more, such as a plot below the functions, are left out. If a function of the
lesson cannot do without them, it does not run, and says why; the others do. No line moves.
"""

import ast
import dis
from collections.abc import Iterator, Sequence
from functools import partial
from types import CodeType
from typing import NamedTuple

from lessons.grading.walls.allowed_names import why_not
from lessons.grading.walls.identifiers import reached
from lessons.grading.walls.own_objects import Guards
from lessons.grading.walls.unusual import FileNames, Names, Reason, module_of

WHAT_RUNS = (
    "What kernels are made of is run, and no more: numba, numpy, math, and the modules of kernels/"
)

Statements = list[ast.stmt]


class PlainCode(NamedTuple):
    """What of a file runs."""

    tree: ast.Module
    left_out: list[Reason]
    refused: dict[str, str]  # wanted function -> why it does not run


def plain_code(text: str, wanted: Sequence[str], filename: str = "exercise.py") -> PlainCode:
    """The part of a file that may run. wanted: functions that it has to define.

    A wanted function that needs what is left out is refused. Raises `SyntaxError` and its like for
    what is no Python.
    """
    tree = ast.parse(text, filename)
    tree.body = [part for node in tree.body for part in one_name_each(node)]
    names = {node: names_of(node, filename) for node in tree.body}
    file = FileNames(tree, names)
    needs = partial(read_by, tree.body, names)
    needed = {function: reached({function}, needs) for function in wanted}
    by_anyone = set().union(*needed.values())
    reasons = {
        node: found
        for node in tree.body
        if (found := sorted(file.reasons(node, bool(names[node].given & by_anyone))))
    }
    guards = Guards(file.module_in)
    if not reasons:
        return PlainCode(guards.visit(tree), [], {})
    leave_out_users(tree.body, names, reasons)
    refused: dict[str, str] = {}
    for function, reached_names in needed.items():
        for node, (reason, *_) in reasons.items():
            if names[node].given & reached_names:
                refused.setdefault(function, f"{reason}, and {function} needs it. {WHAT_RUNS}")
    tree.body = [node for node in tree.body if node not in reasons]
    return PlainCode(guards.visit(tree), sorted(set().union(*reasons.values())), refused)


def one_name_each(node: ast.stmt) -> Statements:
    """The statement; of an import of several names, one import for each of them."""
    if isinstance(node, ast.Import):
        return [ast.copy_location(ast.Import([alias]), node) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return [ast.copy_location(without_star(node), node)]
    if isinstance(node, ast.ImportFrom):
        return [
            ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node)
            for alias in node.names
        ]
    return [node]


def without_star(node: ast.ImportFrom) -> ast.stmt:
    """`from module import *` as an import of all that a file may have of that module."""
    source = module_of(node)
    if source is None:
        return node
    public = [name for name in vars(source) if not name.startswith("_")]
    names = [name for name in getattr(source, "__all__", public) if why_not(source, name) is None]
    brought = ast.ImportFrom(node.module, [ast.alias(name) for name in names], 0)
    return ast.fix_missing_locations(ast.copy_location(brought, node)) if names else ast.Pass()


# ---------------------------------------------------------------- what depends on what


def names_of(node: ast.stmt, filename: str) -> Names:
    code = compile(ast.Module([node], []), filename, "exec", dont_inherit=True)
    names = Names(set(), set())
    for inner in codes_in(code):
        for instruction in dis.get_instructions(inner):
            kind, name = instruction.opname, instruction.argval
            if kind.startswith("LOAD_") and kind.endswith(("_NAME", "_GLOBAL", "_GLOBALS")):
                names.read.add(name)
            if kind == "STORE_GLOBAL" or (kind == "STORE_NAME" and inner is code):
                names.given.add(name)
    return names


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def leave_out_users(
    body: Statements, names: dict[ast.stmt, Names], reasons: dict[ast.stmt, list[Reason]]
) -> None:
    """Add to `reasons` the statements that use a name which is no longer given."""
    while True:
        origin = {name: found[0] for node, found in reasons.items() for name in names[node].given}
        kept = [node for node in body if node not in reasons]
        for node in kept:
            for name in names[node].given:
                origin.pop(name, None)
        users = {
            node: [origin[name] for name in sorted(names[node].read & set(origin))] for node in kept
        }
        found = {node: because for node, because in users.items() if because}
        if not found:
            return
        reasons.update(found)


def read_by(body: Statements, names: dict[ast.stmt, Names], given: set[str]) -> set[str]:
    """The global names that are read where one of these is given."""
    return {name for node in body if names[node].given & given for name in names[node].read}
