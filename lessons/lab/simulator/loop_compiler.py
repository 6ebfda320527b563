"""Compile a loop that only computes, such as the iteration of a Mandelbrot set.

What can be compiled: numbers in variables, arithmetic, `if`, inner loops, some functions of `math`.
A compiled loop runs one thread after the other, many rounds at a time, with the same types and the
same values as the interpreter.
"""

import ast
import copy
import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import njit
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype, from_dtype

from ..numba_types import dtype_of_type
from ..source import MISSING, Source

AnyLoop = ast.While | ast.For

COMPUTES = (
    ast.Assign, ast.AugAssign, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Pass,
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call,
    ast.Attribute, ast.Tuple, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip
# Which have other values in NumPy than in Numba, at their edges.
LEFT_OUT = (ast.Pow, ast.LShift, ast.RShift, ast.In, ast.NotIn, ast.Is, ast.IsNot)
FUNCTIONS = (abs, range, math.sqrt, math.fabs, math.floor, math.ceil, math.isnan, math.isinf)


class Plan(NamedTuple):
    """A loop that can be compiled.

    read, written: its variables, sorted. outside: (name, value, its type) of what it uses from
    outside its function: 1 and 1.0 are equal, and not the same. branches: its `if`s, for counting
    how warps part. must_be_seen: the statements that the interpreter has to have executed before,
    so that none goes unchecked.
    """

    loop: AnyLoop
    read: tuple[str, ...]
    written: tuple[str, ...]
    outside: tuple[tuple[str, object, type], ...]
    branches: tuple[ast.If, ...]
    must_be_seen: tuple[ast.stmt, ...]


# Variables as a loop finds them: the name, the type, and whether there is one value per thread.
Kinds = tuple[tuple[str, np.dtype, bool], ...]


def plan_of(loop: AnyLoop, source: Source) -> Plan | None:
    """How to compile a loop, or None if it does more than compute."""
    if not only_computes(loop):
        return None
    names = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
    written = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    local = {node.id for node in names if node.id in source.function.__code__.co_varnames}
    outside = {node.id: source.lookup(node.id) for node in names if node.id not in local}
    if (
        not written
        or not all(map(is_known, outside.values()))
        or any(n.id.startswith("lab_") for n in names)
    ):
        return None
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    if not all(is_harmless_call(call, outside) for call in calls):
        return None
    for inner in ast.walk(loop):
        if inner is not loop and isinstance(inner, (ast.While, ast.For)):
            if any(isinstance(node, ast.If) for node in ast.walk(inner)):
                return None  # in which round of the inner loop a warp parts would be unknown
    seen = [n for n in ast.walk(loop) if isinstance(n, (ast.Assign, ast.AugAssign, ast.If))]
    return Plan(
        loop=loop,
        read=tuple(sorted(local - written)),
        written=tuple(sorted(written)),
        outside=tuple((name, value, type(value)) for name, value in outside.items()),
        branches=tuple(branches_in(loop.body)),
        must_be_seen=tuple(seen),
    )


@functools.lru_cache(maxsize=1024)
def only_computes(loop: AnyLoop) -> bool:
    return all(map(is_simple, ast.walk(loop)))


def is_simple(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, (ast.While, ast.For)) and node.orelse:
        return False
    if isinstance(node, ast.For):
        return isinstance(node.target, ast.Name) and ast.unparse(node.iter).startswith("range(")
    return isinstance(node, COMPUTES) and not isinstance(node, LEFT_OUT)


def is_known(value: object) -> bool:
    if isinstance(value, (bool, int, float, np.number)) or value is math:
        return True
    return is_function(value)


def is_function(value: object) -> bool:
    """Whether a value is a type, or a function with the same values here and there."""
    if isinstance(value, str) or value is MISSING:
        return False
    return dtype_of_type(value) is not None or any(value is known for known in FUNCTIONS)


def is_harmless_call(call: ast.Call, outside: dict[str, object]) -> bool:
    function, name = call.func, ast.unparse(call.func)
    if isinstance(function, ast.Attribute):
        owner, _, name = name.partition(".")
        return outside.get(owner) is math and is_function(getattr(math, name, MISSING))
    return is_function(outside.get(name, MISSING)) and not call.keywords


def branches_in(statements: list[ast.stmt]) -> Iterator[ast.If]:
    """Each `if` of one round, in the order in which `MarkBranches` comes by."""
    for statement in statements:
        if isinstance(statement, ast.If):
            yield statement
            yield from branches_in(statement.body)
            yield from branches_in(statement.orelse)


# ---------------------------------------------------------------- compiling


@functools.lru_cache(maxsize=256)
def compile_loop(plan: Plan, kinds: Kinds) -> Any:
    """A function with the parameters of `chunk_text`; None if Numba would change a type.

    kinds: of `plan.read`, then of `plan.written`.
    """
    dtypes = {name: dtype for name, dtype, _ in kinds}
    vectors = frozenset(name for name, _, is_vector in kinds if is_vector)
    marks = types.Array(types.uint8, 2, "C")
    limits = [types.int64] * (3 if isinstance(plan.loop, ast.For) else 0)
    signature = (types.int64, marks, marks, *limits, *map(from_dtype, dtypes.values()))
    outside = {name: value for name, value, _ in plan.outside}
    try:
        lane = njit(error_model="numpy")(define("lane", lane_text(plan, dtypes), outside))
        lane.compile(signature)
        compiled: Any = lane.overloads[signature]
        found = compiled.signature.return_type.types
        if [as_dtype(t) for t in found[-len(plan.written) :]] != [dtypes[n] for n in plan.written]:
            return None
        names = {"lane": lane, "zeros": np.zeros, "uint8": np.uint8}
        chunk = define("chunk", chunk_text(plan, vectors), names)
        return njit(error_model="numpy")(chunk)
    except (NumbaError, NotImplementedError):
        return None


def define(name: str, text: str, names: dict[str, Any]) -> Any:
    """The function that a text defines."""
    names = {**names, "lab_numba": numba}
    exec(compile(text, "<a loop that only computes>", "exec"), names)
    return names[name]


def lane_text(plan: Plan, dtypes: dict[str, np.dtype]) -> str:
    """A function that does up to `lab_most` rounds of one thread.

    Returns (status, rounds, the written variables); for a `for`, the next value before them.
    status: 0 if the thread goes on, 1 if its loop has ended, 2 after `break`.
    """
    loop = MarkBranches().visit(copy.deepcopy(plan.loop))
    variables = ", ".join((*plan.read, *plan.written))
    written = "".join(f"{name}, " for name in plan.written)
    if isinstance(loop, ast.For):
        limits, result = "lab_next, lab_end, lab_step, ", f"lab_next, {written}"
        target = ast.unparse(loop.target)
        ends = "(lab_next >= lab_end) if lab_step > 0 else (lab_next <= lab_end)"
        begin = [f"{target} = lab_numba.{dtypes[target].name}(lab_next)", "lab_next += lab_step"]
    else:
        limits, result = "", written
        ends, begin = f"not ({ast.unparse(loop.test)})", []
    body = "\n".join(map(ast.unparse, loop.body))
    inside = [*begin, "lab_rounds += 1", *body.splitlines()]
    return "\n".join(
        [
            f"def lane(lab_most, lab_taken, lab_other, {limits}{variables}):",
            "    lab_status, lab_rounds = 0, 0",
            "    while lab_rounds < lab_most:",
            f"        if {ends}:",
            "            lab_status = 1",
            "            break",
            *(f"        {line}" for line in inside),
            f"    return (lab_status, lab_rounds, {result})",
        ]
    )


class MarkBranches(ast.NodeTransformer):
    """Makes each `if` note which way a thread goes, and each `break` that it left the loop."""

    def __init__(self) -> None:
        self.branches = 0
        self.depth = 0  # of loops

    def visit_loop(self, node: ast.AST) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_While = visit_loop
    visit_For = visit_loop

    def visit_If(self, node: ast.If) -> ast.AST:
        number = self.branches
        self.branches += 1
        self.generic_visit(node)
        node.body = [*ast.parse(f"lab_taken[{number}, lab_rounds - 1] = 1").body, *node.body]
        node.orelse = [*ast.parse(f"lab_other[{number}, lab_rounds - 1] = 1").body, *node.orelse]
        return node

    def visit_Break(self, node: ast.Break) -> ast.AST | list[ast.AST]:
        return [*ast.parse("lab_status = 2").body, node] if self.depth == 1 else node


def chunk_text(plan: Plan, vectors: frozenset[str]) -> str:
    """A function that does up to `most` rounds of n threads, in the order of their warps.

    warp, status, rounds: (n,) int64; the latter two are results. branches: (`if`s, 2) int64: how
    many warps came by, and how many went both ways. Variables are (n,) arrays, changed in place, or
    numbers; next, end and step of a `for` are (n,) int64.
    """
    is_for = isinstance(plan.loop, ast.For)
    names = (*plan.read, *plan.written)
    limits = "next_, end_, step_, " if is_for else ""
    limits_here = "next_[i], end_[i], step_[i], " if is_for else ""
    # Numbered, so that no variable of the kernel has the name of one here.
    numbered = {name: f"v{number}" for number, name in enumerate(names)}
    values = ", ".join(f"{v}[i]" if name in vectors else v for name, v in numbered.items())
    results = "".join(f"{numbered[name]}[i], " for name in plan.written)
    results = f"next_[i], {results}" if is_for else results
    return f"""
def chunk(most, warp, status, rounds, branches, {limits}{", ".join(numbered.values())}):
    count = branches.shape[0]
    taken, other = zeros((count, most), uint8), zeros((count, most), uint8)
    for i in range(len(warp)):
        status[i], rounds[i], {results} = lane(most, taken, other, {limits_here}{values})
        if count and (i + 1 == len(warp) or warp[i + 1] != warp[i]):
            for k in range(count):
                for j in range(most):
                    branches[k, 0] += taken[k, j] | other[k, j]
                    branches[k, 1] += taken[k, j] & other[k, j]
            taken[:] = 0
            other[:] = 0
"""
