"""What the right functions of a name have in common, and the student's has not: loops, calls."""

import ast
import builtins
from collections.abc import Collection, Sequence
from typing import NamedTuple

from lessons.grading.repairs.scope import called_name

LOOPS = ast.For, ast.While, ast.ListComp, ast.GeneratorExp
NUMBERS = "no", "one", "two", "three", "four"
WHOLE_GRID = {"gridsize", "gridDim"}  # what the step of a loop over the grid is made of
# A list, a sum or an `any` can as well be a loop.
OF_EVERY_PROGRAM = {*dir(builtins), "float32", "int32", "int64", "uint32", "uint64"}
# What can as well be written out, or have another form.
OF_STYLE = {"relu", "cuda.local.array", "math.floor", "math.ceil"}
OF_POSITION = {"cuda.grid", "cuda.gridsize"}


def other_structure(
    mine: ast.FunctionDef, right: Sequence[ast.FunctionDef], own: Collection[str] = ()
) -> str:
    """A sentence on what every right function has otherwise; "" if that is nothing known.

    right: those of the same name, one at least. own: helpers that only the student's file has; a
    loop or a call may stand in one of them.
    """
    helped = not names_called(mine).isdisjoint(own)
    others = () if helped else (loops_otherwise, call_missing, barriers_otherwise)
    for sentence in (never_read, never_used, *others):
        if found := sentence(mine, right):
            return found
    return ""


def never_read(mine: ast.FunctionDef, right: Sequence[ast.FunctionDef]) -> str:
    """An array of which all the right ones read an element, and this one none."""
    handed_on = {
        argument.id
        for node in ast.walk(mine)
        if isinstance(node, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Name)
    }
    needed = set.intersection(*(arrays_indexed(one) for one in right))
    given = [argument.arg for argument in mine.args.args]
    used = arrays_indexed(mine) | handed_on
    missing = [name for name in given if name in needed - used and name in names_used(mine)]
    return f"no element of `{missing[0]}` is read or written in it" if missing else ""


def arrays_indexed(function: ast.FunctionDef) -> set[str]:
    """The arrays of which an element is read or written, by their names."""
    nodes = (node.value for node in ast.walk(function) if isinstance(node, ast.Subscript))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def never_used(mine: ast.FunctionDef, right: Sequence[ast.FunctionDef]) -> str:
    needed = set.intersection(*(names_used(one) for one in right))
    given = {argument.arg for argument in mine.args.args}
    together = names_given_together(mine)
    if any(idle_counters(one) for one in right):
        together |= idle_counters(mine)  # such a loop does something so many times
    for name in idle_names(mine):
        if name not in given and name not in together:
            return f"`{name}` is computed in it, and then never used"
        if name in given and name in needed:
            return f"`{name}` is handed to it, and never used in it"
    return ""


def idle_counters(function: ast.FunctionDef) -> set[str]:
    """What loops count with, and nobody reads."""
    loops = (node.target for node in ast.walk(function) if isinstance(node, ast.For))
    counters = {target.id for target in loops if isinstance(target, ast.Name)}
    return counters - names_used(function)


def names_given_together(function: ast.FunctionDef) -> set[str]:
    """Names that come with others, as in `height, width = image.shape`: not all may be needed."""
    pairs = (node for node in ast.walk(function) if isinstance(node, ast.Tuple))
    parts = (part for pair in pairs for part in pair.elts if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Store)}


def idle_names(function: ast.FunctionDef) -> list[str]:
    """Names that are given or computed, and never used."""
    given = [argument.arg for argument in function.args.args]
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = [node.id for node in nodes if isinstance(node.ctx, ast.Store)]
    used = names_used(function)
    names = dict.fromkeys([*given, *stored])
    return [name for name in names if name not in used and not name.startswith("_")]


def names_used(function: ast.FunctionDef) -> set[str]:
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}


class Loops(NamedTuple):
    """all: how many there are. depth: how many of these stand within each other, at most."""

    all: int
    depth: int

    @property
    def words(self) -> str:
        number = NUMBERS[self.all]
        if self.all < 2:
            return f"{number} loop"
        if self.depth == 1:
            return f"{number}, one after the other"
        if self.depth == self.all:
            return f"{number}, one within the other"
        return f"{number}, of which {NUMBERS[self.depth]} stand within each other"


def loops_otherwise(mine: ast.FunctionDef, right: Sequence[ast.FunctionDef]) -> str:
    """Loops that are missing, or deeper. More of them side by side is another way to write it."""
    grid = all(loops_over_the_grid(one) for one in right)  # else such a loop is of no account
    here, (there, *others) = loops_in(mine, grid), [loops_in(one, grid) for one in right]
    if not here.all and all(other.all for other in (there, *others)) and others:
        return "every right one has a loop, and this one has none"
    if any(other != there for other in others) or max(here.all, there.all) >= len(NUMBERS):
        return ""
    if here.depth == there.depth and here.all >= there.all:
        return ""
    return f"loops in ours: {there.words}; in this one: {here.words}"


def loops_over_the_grid(function: ast.FunctionDef) -> list[ast.AST]:
    """Loops that go on by all threads of the launch."""
    nodes = list(ast.walk(function))
    given = (node for node in nodes if isinstance(node, ast.Assign) and of_the_grid(node.value, ()))
    steps = {one.id for node in given for one in node.targets if isinstance(one, ast.Name)}
    return [node for node in nodes if of_the_grid(step_of(node), steps)]


def of_the_grid(node: ast.AST, steps: Collection[str]) -> bool:
    """Whether an expression has the number of threads in the grid, or one of these names, in it."""
    parts = list(ast.walk(node))
    named = any(isinstance(one, ast.Name) and one.id in steps for one in parts)
    return named or any(isinstance(one, ast.Attribute) and one.attr in WHOLE_GRID for one in parts)


def step_of(loop: ast.AST) -> ast.AST:
    """By what a loop goes on, as far as that is known."""
    if isinstance(loop, ast.For) and called_name(loop.iter) == "range":
        assert isinstance(loop.iter, ast.Call), "it has a name that is called"
        return ast.Tuple(loop.iter.args[2:])
    if isinstance(loop, ast.While):
        changes = [one for one in loop.body if isinstance(one, (ast.AugAssign, ast.Assign))]
        return ast.Tuple([one.value for one in changes])
    return ast.Tuple([])


def call_missing(mine: ast.FunctionDef, right: Sequence[ast.FunctionDef]) -> str:
    needed = set.intersection(*(names_called(one) for one in right))
    missing = sorted(needed - names_called(mine) - OF_EVERY_PROGRAM - OF_STYLE)
    if "cuda.threadIdx" in ast.unparse(mine):
        missing = [name for name in missing if name not in OF_POSITION]
    return f"ours calls `{missing[0]}`, and this one does not" if missing else ""


def barriers_otherwise(mine: ast.FunctionDef, right: Sequence[ast.FunctionDef]) -> str:
    here, numbers = barriers_in(mine), {barriers_in(one) for one in right}
    if len(numbers) > 1 or here in numbers:
        return ""
    return f"places with cuda.syncthreads() in ours: {min(numbers)}; in this one: {here}"


def loops_in(function: ast.FunctionDef, grid: bool) -> Loops:
    """grid: whether a loop over the grid counts as one."""
    none = [] if grid else loops_over_the_grid(function)
    counted = [one for one in ast.walk(function) if isinstance(one, LOOPS) and one not in none]

    def depth(node: ast.AST) -> int:
        below = max((depth(child) for child in ast.iter_child_nodes(node)), default=0)
        return below + (node in counted)

    return Loops(len(counted), depth(function))


def names_called(function: ast.FunctionDef) -> set[str]:
    """Functions that are called; not those of its own values, such as `found.append`."""
    nodes = list(ast.walk(function))
    own = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    names = {
        ast.unparse(one.func) for one in nodes if isinstance(one, ast.Call) and called_name(one)
    }
    return {name for name in names if name.partition(".")[0] not in own}


def barriers_in(function: ast.FunctionDef) -> int:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return sum(called_name(node) == "syncthreads" for node in calls)
