"""What to do about a race: the advice that fits the two places."""

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...names import CudaName, resolve
from ...source import Source
from .history import HappensBefore

# How an operation on an element is made one step.
ATOMICS = {
    ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
ATOMICS_OF_FUNCTIONS = {"min": "min", "max": "max"}
OF_WARPS = ("syncwarp", "laneid", "shfl", "ballot_sync", "all_sync", "any_sync", "match", "activem")


class Side(NamedTuple):
    """One of the two accesses of a race."""

    thread: int  # its number in the launch
    atomic: bool
    source: Source
    node: ast.AST


def remedy(order: HappensBefore, now: Side, former: Side, tick: int, same_warp: bool) -> str:
    """What puts two accesses in order.

    tick: of the former one. same_warp: whether all threads that race are in one warp each.
    """
    plain = not (now.atomic or former.atomic)
    told = plain and told_by_atomic(order, now.thread, former.thread, tick)
    if not told and read_modify_write(now, former):
        return read_modify_write(now, former)
    if plain and now.node is former.node and changed_atomically(now):
        return (
            "other lines change it with atomics, and then each change has to be one: a lock is "
            "opened by cuda.atomic.exch(..., 0), behind a fence"
        )
    if order.block_of[now.thread] != order.block_of[former.thread]:
        return between_blocks(order, now, former, tick, told)
    if not plain:
        return (
            "an atomic protects only against other atomics; put cuda.syncthreads() between them, "
            "or make both atomic"
        )
    if told:
        return fence_missing("cuda.threadfence()")
    if same_warp and uses_warps(now.source):
        return "put cuda.syncwarp() between them: threads of a warp are not in step by themselves"
    return within_block(now, former)


def between_blocks(order: HappensBefore, now: Side, former: Side, tick: int, told: bool) -> str:
    if now.atomic or former.atomic:
        return (
            "an atomic protects only against other atomics: make both atomic (to read, "
            "cuda.atomic.add(..., 0)), or use one launch after the other"
        )
    if told:
        fences = order.fences.block_fences
        if fences is not None and fences.tick[former.thread] >= tick:
            return "cuda.threadfence_block() orders nothing for other blocks: cuda.threadfence()"
        return fence_missing("cuda.threadfence()")
    return (
        "blocks run in any order, and a barrier of one block does not reach across to another; use "
        "an atomic, or one launch after the other"
    )


def fence_missing(fence: str) -> str:
    return (
        f"an atomic orders no other memory by itself: put {fence} between the first of the two "
        "and the atomic that tells of it (that unlocks, or counts)"
    )


def told_by_atomic(order: HappensBefore, thread: int, former: int, tick: int) -> bool:
    """Whether the one thread, or its block, has done an atomic since, and the other looked."""
    changed, asked = order.fences.last_change, order.fences.last_question
    if changed is None or asked is None:
        return False
    if order.block_of[thread] == order.block_of[former]:
        return bool(tick < changed[former] <= asked[thread])
    there, here = (order.block_of == order.block_of[t] for t in (former, thread))
    return bool(tick < changed[there].max() <= asked[here].max())


def within_block(now: Side, former: Side) -> str:
    if now.source is not former.source:
        return "put cuda.syncthreads() between them"
    parents = parents_in(now.source.tree)
    loop = common_loop(parents, now.node, former.node)
    begin, end = line_of(now.node), line_of(former.node)
    if loop is None or begin > end:
        conditional = any(
            isinstance(p, ast.If) for p in shared_parents(parents, now.node, former.node)
        )
        outside = ", outside the `if`" if conditional else ""
        return f"put cuda.syncthreads() between them{outside}"
    if any(begin <= line <= end for line in barriers_in(loop)):
        return (
            "the barrier between these lines is not enough, because the next round of the loop "
            f"begins without one: put a second cuda.syncthreads() at the end of the loop of line "
            f"{loop.lineno}"
        )
    return (
        "they meet in different rounds: put cuda.syncthreads() into the loop of line "
        f"{loop.lineno}, so that no thread begins the next round before all have finished this one"
    )


# ---------------------------------------------------------------- read-modify-write


def read_modify_write(now: Side, former: Side) -> str:
    """Advice if both threads are within one change of one element, such as +=; else ""."""
    if now.source is not former.source or now.atomic or former.atomic:
        return ""
    parents = parents_in(now.source.tree)
    statement = statement_of(parents, now.node)
    if statement is None or statement is not statement_of(parents, former.node):
        return ""
    target: ast.expr
    if isinstance(statement, ast.AugAssign):
        target, name = statement.target, ATOMICS.get(type(statement.op))
    elif isinstance(statement, ast.Assign):
        target, name = statement.targets[0], atomic_of(statement.value)
    else:
        return ""
    text = ast.unparse(target)
    reads = isinstance(statement, ast.AugAssign) or text in map(
        ast.unparse, subscripts(statement.value)
    )
    if not isinstance(target, ast.Subscript) or not reads:
        return ""
    if ast.unparse(now.node) != text or ast.unparse(former.node) != text:
        return ""
    what = f"this is a read-modify-write of {text} in several steps, and one of the changes is lost"
    if name is None:
        return f"{what}: let one thread do all of them, or use a lock"
    where = f"{ast.unparse(target.value)}, {ast.unparse(target.slice)}"
    return f"{what}: cuda.atomic.{name}({where}, ...) makes it one step"


def atomic_of(value: ast.expr) -> str | None:
    if isinstance(value, ast.BinOp):
        return ATOMICS.get(type(value.op))
    if isinstance(value, ast.Call):
        return ATOMICS_OF_FUNCTIONS.get(ast.unparse(value.func))
    return None


def changed_atomically(side: Side) -> bool:
    """Whether a kernel stores to an array here that it changes with atomics in other places."""
    node = side.node
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)):
        return False
    array = ast.unparse(node.value)
    calls = (part for part in ast.walk(side.source.tree) if isinstance(part, ast.Call))
    of_array = (call for call in calls if call.args and ast.unparse(call.args[0]) == array)
    names = (resolve(side.source, call.func) for call in of_array)
    return any(isinstance(name, CudaName) and name.path.startswith("atomic.") for name in names)


def subscripts(node: ast.AST) -> Iterator[ast.Subscript]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Subscript))


# ---------------------------------------------------------------- questions asked of a kernel


@functools.lru_cache(maxsize=64)
def parents_in(tree: ast.FunctionDef) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def parents_of(parents: dict[ast.AST, ast.AST], node: ast.AST) -> Iterator[ast.AST]:
    """From the innermost to the outermost."""
    while node in parents:
        node = parents[node]
        yield node


def statement_of(parents: dict[ast.AST, ast.AST], node: ast.AST) -> ast.stmt | None:
    for parent in parents_of(parents, node):
        if isinstance(parent, ast.stmt):
            return parent
    return None


def shared_parents(parents: dict[ast.AST, ast.AST], one: ast.AST, other: ast.AST) -> list[ast.AST]:
    others = set(parents_of(parents, other))
    return [parent for parent in parents_of(parents, one) if parent in others]


def common_loop(
    parents: dict[ast.AST, ast.AST], one: ast.AST, other: ast.AST
) -> ast.For | ast.While | None:
    for parent in shared_parents(parents, one, other):
        if isinstance(parent, (ast.For, ast.While)):
            return parent
    return None


def barriers_in(node: ast.AST) -> Iterator[int]:
    """Lines of the barriers of a block in some code."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr.startswith("syncthreads"):
            yield part.lineno


def uses_warps(source: Source) -> bool:
    """Whether a kernel knows of warps: whoever wrote it will know what syncwarp is."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            name = resolve(source, node)
            if isinstance(name, CudaName) and name.path.startswith(OF_WARPS):
                return True
    return False


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def all_in_one_warp(order: HappensBefore, threads: np.ndarray, others: np.ndarray) -> bool:
    return bool((order.warp_of[threads] == order.warp_of[others]).all())
