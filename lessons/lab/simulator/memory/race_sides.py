"""The two sides of a race in the text of the kernel, and what lies between them."""

import ast
import functools
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple, TypeGuard

from ...names import cuda_path
from ...source import Calls, Source
from .access import Kind
from .arrays import Memory

OF_WARPS = ("syncwarp", "laneid", "shfl", "ballot_sync", "all_sync", "any_sync", "match", "activem")
ADVICE_KEPT = 1024  # pairs of accesses


class Side(NamedTuple):
    """One of the two accesses of a race."""

    thread: int  # its number in the launch
    kind: Kind
    source: Source
    node: ast.AST
    memory: Memory  # of which both touch an element
    calls: Calls = ()  # by which the kernel comes to `source`

    @property
    def atomic(self) -> bool:
        return self.kind == "atomic"

    @property
    def around(self) -> Iterator[ast.AST]:
        """What the node is in, from the innermost to the outermost."""
        return parents_of(parents_in(self.source.tree), self.node)

    @property
    def same(self) -> tuple:
        """What two sides have in common if the same is to be said of them."""
        memory, calls = self.memory, tuple(call for _, call in self.calls)
        facts = memory.name, memory.space, has_two(self), memory.data.dtype
        return self.kind, self.node, calls, *facts


def has_two(side: Side) -> bool:
    """Whether an array holds two buffers, one behind the other."""
    shape = side.memory.shape
    return len(shape) > 1 and shape[0] == 2


def once_per_pair(advise: Callable[..., str]) -> Callable[..., str]:
    """Keeps what is said of two sides: a program launches its kernels again and again."""
    known: dict[tuple, str] = {}

    @functools.wraps(advise)
    def kept(one: Side, other: Side, *facts: bool) -> str:
        same = one.same, other.same, facts
        if same not in known:
            if len(known) >= ADVICE_KEPT:
                known.clear()
            known[same] = advise(one, other, *facts)
        return known[same]

    return kept


@functools.lru_cache(maxsize=64)
def parents_in(tree: ast.FunctionDef) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def parents_of(parents: dict[ast.AST, ast.AST], node: ast.AST) -> Iterator[ast.AST]:
    """From the innermost to the outermost."""
    while node in parents:
        node = parents[node]
        yield node


def statement_at(side: Side) -> ast.stmt | None:
    """The statement that one side of a race is in."""
    return next((parent for parent in side.around if isinstance(parent, ast.stmt)), None)


def stores_of(now: Side, former: Side) -> Iterator[tuple[Side, ast.Subscript, ast.Assign, Side]]:
    """(the side that stores, to what, where, the other) of each that assigns to an element."""
    for store, other in ((now, former), (former, now)):
        element, statement = store.node, statement_at(store)
        if store.kind == "write" and isinstance(statement, ast.Assign):
            if isinstance(element, ast.Subscript):
                yield store, element, statement, other


def begins_a_sum(now: Side, former: Side) -> bool:
    """Whether one thread stores a constant where others add: an exchange would lose as much."""
    changed, stored = (now, former) if now.atomic else (former, now)
    call = changed.node
    if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith(".add"):
        return False
    asks = not call.args or ast.unparse(call.args[-1]) == "0"  # of a flag
    return not asks and sets_a_constant(stored)


def sets_a_constant(stored: Side) -> bool:
    statement = statement_at(stored)
    if not isinstance(statement, ast.Assign):
        return False
    value = statement.value
    parts = value.args if isinstance(value, ast.Call) else [value]  # float32(0), or 0
    return all(isinstance(part, ast.Constant) for part in parts)


def shared_parents(now: Side, former: Side) -> list[ast.AST]:
    """What both places are in, in one function; from the innermost to the outermost."""
    others = set(former._replace(source=now.source).around)
    return [parent for parent in now.around if parent in others]


def where_between(now: Side, former: Side) -> str:
    """Behind which `if` or loop, and before which one, a barrier between two places belongs."""
    first, second = sorted((now, former), key=lambda side: line_of(side.node))
    behind, before = own_block(first, second), own_block(second, first)
    words = [f"behind {behind}"] * bool(behind) + [f"before {before}"] * bool(before)
    return ", " + " and ".join(words) if words else ""


def own_block(one: Side, other: Side) -> str:
    """The outermost `if` or loop that one place is in, and the other is not; in words."""
    shared = set(shared_parents(one, other))
    kinds = (ast.If, ast.For, ast.While)
    own = [part for part in one.around if part not in shared and isinstance(part, kinds)]
    if not own:
        return ""
    return f"the {'`if`' if isinstance(own[-1], ast.If) else 'loop'} of line {line_of(own[-1])}"


def in_two_branches(now: Side, former: Side) -> bool:
    """Whether one place is under an `if`, and the other under its `else`."""
    nearest = next(iter(shared_parents(now, former)), None)
    if not isinstance(nearest, ast.If):
        return False
    parents = parents_in(now.source.tree)
    tops = [{node, *parents_of(parents, node)} for node in (now.node, former.node)]
    sides = [[part for part in nearest.orelse if part in top] for top in tops]
    return bool(sides[0]) != bool(sides[1])


def apart_by_return(now: Side, former: Side) -> bool:
    """Whether one place is in an `if` that ends with `return`, and the other is not in it."""
    parents = parents_in(now.source.tree)
    shared = shared_parents(now, former)
    return any(
        isinstance(parent, ast.If)
        and parent not in shared
        and isinstance(parent.body[-1], ast.Return)
        and not parent.orelse
        for node in (now.node, former.node)
        for parent in parents_of(parents, node)
    )


def common_loop(now: Side, former: Side) -> ast.For | ast.While | None:
    loops = (part for part in shared_parents(now, former) if isinstance(part, (ast.For, ast.While)))
    return next(loops, None)


def is_barrier(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether it is `cuda.syncthreads` or the like: a barrier of a block."""
    return isinstance(node, ast.Attribute) and node.attr.startswith("syncthreads")


def barriers_in(node: ast.AST) -> Iterator[int]:
    """Lines of the barriers of a block in some code."""
    return (part.lineno for part in ast.walk(node) if is_barrier(part))


def barrier_left_out(now: Side, former: Side) -> tuple[int, int] | None:
    """Of a loop around both, all of whose barriers are in an `if`: its line, and a barrier's."""
    for loop in shared_parents(now, former):
        if isinstance(loop, (ast.For, ast.While)):
            barriers = [now._replace(node=part) for part in ast.walk(loop) if is_barrier(part)]
            if barriers and all(under_a_condition(one, loop) for one in barriers):
                return loop.lineno, line_of(barriers[0].node)
    return None


def under_a_condition(part: Side, loop: ast.AST) -> bool:
    """Whether a part of a loop is under an `if` in the loop."""
    inside = takewhile(lambda parent: parent is not loop, part.around)
    return any(isinstance(parent, ast.If) for parent in inside)


def subscripts(node: ast.AST) -> Iterator[ast.Subscript]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Subscript))


def uses_warps(source: Source) -> bool:
    """Whether a kernel knows of warps: whoever wrote it will know what syncwarp is."""
    return any(
        cuda_path(source, node).startswith(OF_WARPS) or asks_for_lane(node)
        for node in ast.walk(source.tree)
    )


def asks_for_lane(node: ast.AST) -> bool:
    """Whether an expression is about a thread's place in its warp: t < 32, t % 32, t & 31."""
    if isinstance(node, ast.Compare):
        return any(is_constant(part, 32) for part in node.comparators)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.FloorDiv)):
        return is_constant(node.right, 32)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return is_constant(node.right, 31)
    return False


def is_constant(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def syncs_grid(source: Source) -> bool:
    """Whether a kernel waits for its whole grid: `this_grid().sync()`."""
    return any(getattr(node, "attr", "") == "this_grid" for node in ast.walk(source.tree))


def waiting_loops(source: Source) -> list[ast.While]:
    """Loops that do nothing but wait."""
    loops = (node for node in ast.walk(source.tree) if isinstance(node, ast.While))
    return [
        loop for loop in loops if all(isinstance(s, (ast.Pass, ast.Continue)) for s in loop.body)
    ]


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
