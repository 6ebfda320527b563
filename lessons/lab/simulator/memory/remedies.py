"""What to do about a race: the advice that fits its two sides."""

import ast

import numpy as np

from ...numba_compiler import is_of_user
from ..reporter import name_of
from .atomic_advice import (
    atomic_advice,
    change_of,
    changed_atomically,
    changed_in_two_steps,
    new_value_given,
    old_value_stored,
)
from .data_flow import block_left_out, made_of_array
from .history import HappensBefore
from .loop_advice import block_wide_step, next_round_too_early, no_turns, where_they_part
from .pairs import pair_advice
from .race_sides import (
    Side,
    apart_by_return,
    barrier_left_out,
    barriers_in,
    begins_a_sum,
    common_loop,
    has_two,
    in_two_branches,
    line_of,
    once_per_pair,
    sets_a_constant,
    shared_parents,
    statement_at,
    subscripts,
    syncs_grid,
    uses_warps,
    waiting_loops,
    where_between,
)

# ---------------------------------------------------------------- elements cleared for others


def clears_for_all(now: Side, former: Side) -> bool:
    """Whether one thread sets in a loop what each thread reads once: it cleans up for others."""
    stored, read = (now, former) if now.kind == "write" else (former, now)
    if not sets_a_constant(stored):
        return False
    in_a_loop = [
        any(isinstance(parent, (ast.For, ast.While)) for parent in side.around)
        for side in (stored, read)
    ]
    return in_a_loop == [True, False]


def clears_where_others_change(now: Side, former: Side) -> bool:
    """Whether one thread sets to a constant what another one changes by what it holds."""
    stored, read = (now, former) if now.kind == "write" else (former, now)
    change = change_of(statement_at(read))
    return sets_a_constant(stored) and change is not None and is_part(read.node, change[0])


def is_part(node: ast.AST, element: ast.Subscript) -> bool:
    """Whether what is read is the element itself, or the same again in the statement."""
    return isinstance(node, ast.Subscript) and ast.unparse(node) == ast.unparse(element)


# ---------------------------------------------------------------- the advice


TWO_CALLS = "the two calls of line {}, each in a line of its own"
SWAPS = ("cas", "exch", "compare_and_swap")  # atomics of locks and flags


def remedy(
    order: HappensBefore, now: Side, former: Side, tick: int, same_warp: bool, same_round: bool
) -> str:
    """What puts two accesses in order.

    tick: of the former one. same_warp: whether all threads that race are in one warp each.
    same_round: whether the two are in one round of a loop.
    """
    plain = not (now.atomic or former.atomic)
    told = plain and told_by_atomic(order, now.thread, former.thread, tick)
    across = bool(order.block_of[now.thread] != order.block_of[former.thread])
    fences = order.fences.block_fences
    narrow = told and fences is not None and bool(fences.tick[former.thread] >= tick)
    return advice_on(now, former, across, told, narrow, same_warp, same_round)


@once_per_pair
def advice_on(
    now: Side,
    former: Side,
    across: bool,
    told: bool,
    narrow: bool,
    same_warp: bool,
    same_round: bool,
) -> str:
    """See `remedy`. across: between blocks. told: by an atomic. narrow: with a fence of a block."""
    plain = not (now.atomic or former.atomic)
    if across and plain and block_wide_step(now):
        return block_wide_step(now)
    advice = (
        changed_in_two_steps(now, former)
        or old_value_stored(now, former)
        or new_value_given(now, former)
    )
    if plain and not told and not advice:
        advice = change_advice(now, former, same_round, across)
        advice += block_left_out(now) if advice and across else ""
    if advice:
        return advice
    if plain and now.node is former.node and changed_atomically(now):
        return (
            "other lines change it with atomics, and then each change has to be one: a lock is "
            "opened by cuda.atomic.exch(..., 0), behind a fence"
        )
    if not is_of_user(now.source.filename):  # a state of a generator of random numbers
        return "give each thread an element of its own, such as the one at cuda.grid(1)"
    if plain and not told and waits_before(now):
        return (
            f"the loop of line {waits_before(now)} waits, but that orders no other memory: put "
            "cuda.threadfence() between the first of the two and the store that the loop waits "
            "for, and store and look atomically (cuda.atomic.exch, cuda.atomic.add(..., 0))"
        )
    if across:
        hint = block_left_out(now) if plain and not told else ""
        return between_blocks(now, former, told, narrow) + hint
    if not plain:
        return beside_an_atomic(now, former, same_round)
    if told:
        return fence_missing("cuda.threadfence()")
    barrier = "cuda.syncwarp()" if same_warp and uses_warps(now.source) else "cuda.syncthreads()"
    if same_round and is_shift(now, former):
        return within_statement(now, former, barrier)
    if barrier == "cuda.syncwarp()":
        return f"put {barrier} between them: threads of a warp are not in step by themselves"
    return within_block(now, former, same_round)


def change_advice(now: Side, former: Side, same_round: bool, across: bool) -> str:
    """Advice if a race is about a change that has to be one step; else ""."""
    return pair_advice(now, former, across) or atomic_advice(now, former, same_round)


@once_per_pair
def remedy_of_stores(one: Side, other: Side, across: bool) -> str:
    """What to do about two threads that store different values in one instruction."""
    advice = changed_in_two_steps(one, other) or old_value_stored(one, other)
    advice = advice or change_advice(one, other, True, across)
    if advice:
        return advice
    who = "block, or each thread," if across else "thread"
    own = f"give each {who} an element of its own, or let one thread store"
    if one.memory.space == "shared":
        return (
            "a shared array is one for all threads of its block, and what belongs to one thread is "
            f"a cuda.local.array. If it is for all, {own}"
        )
    return f"{own}; for a sum, add with cuda.atomic.add" + (block_left_out(one) if across else "")


def between_blocks(now: Side, former: Side, told: bool, narrow: bool) -> str:
    if (now.atomic or former.atomic) and "write" in (now.kind, former.kind):
        undone = (
            "blocks run in any order, so a plain store may undo what others have changed atomically"
        )
        if begins_a_sum(now, former):
            return (
                f"{undone}: leave out the store, if the array is only to be added to, or store in "
                "a launch before this one"
            )
        return (
            f"{undone}: make both atomic (cuda.atomic.exch stores), store in a launch before this "
            "one, or leave the store out, if the array is only to be added to"
        )
    if now.atomic or former.atomic:
        return (
            "an atomic protects only against other atomics, and blocks run in any order, so that "
            "what is read may change afterwards: read in a second launch, or, if any value will "
            "do, make both atomic (to read, cuda.atomic.add(..., 0))"
        )
    if told:
        if narrow:
            return "cuda.threadfence_block() orders nothing for other blocks: cuda.threadfence()"
        return fence_missing("cuda.threadfence()")
    why = "blocks run in any order, and a barrier of one block does not reach across to another"
    if syncs_grid(now.source):
        return f"{why}: put the grid's sync() between them"
    order_of_lines = reads_others(now, former)
    if order_of_lines == "before" and clears_for_all(now, former):
        return f"{why}: let each thread set its own element, behind the line that reads it"
    if order_of_lines == "before":
        return (
            f"{why}: read from one array and write to another, and change places from one launch "
            "to the next"
        )
    if order_of_lines == "after" and clears_where_others_change(now, former):
        return (
            f"{why}. Is each element changed by one thread only, once? Then let that store (=) "
            "where it changes it now, and nothing has to be cleared; otherwise clear in a launch "
            "before"
        )
    if order_of_lines == "after":
        return f"{why}: end the launch before the line that reads, and read in a second one"
    if now.kind == former.kind == "write":
        return (
            f"{why}: give each block an element of its own, such as the one at cuda.blockIdx.x, or "
            "each thread, such as the one at cuda.grid(1); for a sum, add with cuda.atomic.add"
        )
    return f"{why}; use an atomic, or one launch after the other"


def fence_missing(fence: str) -> str:
    return (
        f"an atomic orders no other memory by itself: put {fence} between the first of the two "
        "and the atomic that tells of it (that unlocks, or counts)"
    )


def waits_before(now: Side) -> int:
    """The line of a loop that only waits, before the later access; 0 if there is none."""
    lines = [loop.lineno for loop in waiting_loops(now.source)]
    return max((line for line in lines if line < line_of(now.node)), default=0)


def told_by_atomic(order: HappensBefore, thread: int, former: int, tick: int) -> bool:
    """Whether the one thread, or its block, has done an atomic since, and the other looked."""
    changed, asked = order.fences.last_change, order.fences.last_question
    if changed is None or asked is None:
        return False
    if order.block_of[thread] == order.block_of[former]:
        return bool(tick < changed[former] <= asked[thread])
    there, here = (order.block_of == order.block_of[t] for t in (former, thread))
    return bool(tick < changed[there].max() <= asked[here].max())


def reads_others(now: Side, former: Side) -> str:
    """Whether threads read other elements than they store, "before" or "after" they store; or "".

    A stencil reads before; who uses what others have computed reads after.
    """
    if now.source is not former.source or {now.kind, former.kind} != {"read", "write"}:
        return ""
    stored, read = (now, former) if now.kind == "write" else (former, now)
    if not isinstance(stored.node, ast.Subscript) or not isinstance(read.node, ast.Subscript):
        return ""
    same_array = ast.unparse(stored.node.value) == ast.unparse(read.node.value)
    if not same_array or ast.unparse(stored.node) == ast.unparse(read.node):
        return ""
    if waiting_loops(now.source):  # for what is computed by others: it is no stencil
        return ""
    return "before" if line_of(read.node) <= line_of(stored.node) else "after"


# ---------------------------------------------------------------- within a block


def beside_an_atomic(now: Side, former: Side, same_round: bool) -> str:
    """What to do where one thread changes an element atomically, and another one does not."""
    why = "an atomic protects only against other atomics"
    atomic, other = (now, former) if now.atomic else (former, now)
    name = ast.unparse(atomic.node.func) if isinstance(atomic.node, ast.Call) else ""
    swaps = name.endswith(SWAPS)
    if swaps or change_of(statement_at(other)) or waiting_loops(other.source):
        return f"{why}; put cuda.syncthreads() between them, or make both atomic"
    return f"{why}: {within_block(now, former, same_round)}"


def is_shift(now: Side, former: Side) -> bool:
    """Whether one statement reads what other threads write in it: `s[t] = s[t + 1]`."""
    if now.source is not former.source or (now.kind, former.kind) != ("write", "read"):
        return False
    statement = statement_at(now)
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    same = statement is statement_at(former)
    return same and any(former.node is part for part in subscripts(statement.value))


def within_statement(now: Side, former: Side, barrier: str) -> str:
    advice = (
        "one statement reads the old value and stores the new one, and threads are not in step: "
        f"read into a variable first, then {barrier}, then store"
    )
    conditional = any(isinstance(parent, ast.If) for parent in shared_parents(now, former))
    if conditional and barrier == "cuda.syncthreads()":
        advice += "; the barrier outside the `if`"
    loop = common_loop(now, former)
    if loop is not None and not any(barriers_in(loop)):
        advice += ", and a second barrier before the next round"
    return advice


def within_block(now: Side, former: Side, same_round: bool) -> str:
    one, other = where_they_part(now, former, same_round)
    if one.source is other.source is now.source is former.source:
        return in_one_function(one, other)
    if one.source is not other.source:
        return "put cuda.syncthreads() between them"
    lines = sorted((line_of(one.node), line_of(other.node)))
    them = "lines {} and {}".format(*lines) if lines[0] < lines[1] else TWO_CALLS.format(lines[0])
    return f"in {name_of(one.source)}: {in_one_function(one, other, them)}"


def in_one_function(now: Side, former: Side, them: str = "them") -> str:
    """them: what the message calls the two of them."""
    if now.kind == former.kind == "write" and apart_by_return(now, former):
        return (
            "threads return behind one of these stores, so no barrier can stand between them: "
            "whose element is it? Only the thread that it belongs to should store it"
        )
    if no_turns(now, former):
        return no_turns(now, former)
    left_out = barrier_left_out(now, former)
    if left_out and in_two_branches(now, former):
        return in_some_rounds(*left_out)
    loop = common_loop(now, former)
    begin, end = line_of(now.node), line_of(former.node)
    if loop is None or begin > end:
        branches = [one for one in shared_parents(now, former) if isinstance(one, ast.If)]
        outside = where_between(now, former)
        if branches:
            outside = (
                f", outside the `if` of line {branches[-1].lineno}: end it before line "
                f"{max(begin, end)}, and begin a second one behind the barrier"
            )
        meant = ", if both are meant for this element" * (now.kind == former.kind == "write")
        second = or_a_second_array(now, former)
        return f"put cuda.syncthreads() between {them}{outside}{meant}{second}"
    too_early = next_round_too_early(now, former)
    if too_early:  # where all have read before anybody stores, one array is enough
        second = "" if now.kind == "read" else or_a_second_array(now, former)
        return f"{too_early}{second}"
    if any(barriers_in(loop)):
        return (
            f"the loop of line {loop.lineno} has a barrier, so they meet in the same round: is "
            "this the element that was meant? If it is, let all threads read, then "
            "cuda.syncthreads(), then write"
        )
    if left_out:
        return in_some_rounds(*left_out)
    return (
        "they meet in different rounds: put cuda.syncthreads() into the loop of line "
        f"{loop.lineno}, so that no thread begins the next round before all have finished this one"
        f"{or_a_second_array(now, former)}"
    )


def in_some_rounds(loop: int, barrier: int) -> str:
    return (
        f"the loop of line {loop} passes its barrier, line {barrier}, only in some of its rounds: "
        "put it outside of the `if`"
    )


def or_a_second_array(now: Side, former: Side) -> str:
    """What else helps where a line stores what was computed from the same array, as in layers."""
    stored = now if now.kind == "write" else former
    statement = statement_at(stored)
    if {now.kind, former.kind} != {"read", "write"} or not isinstance(statement, ast.Assign):
        return ""
    if has_two(stored) or not isinstance(stored.node, ast.Subscript):
        return ""
    array = ast.unparse(getattr(stored.node, "value", stored.node))
    if change_of(statement) or not made_of_array(stored.source.tree, statement.value, array):
        return ""
    return (
        f". What is stored is computed from {array} itself: if others still need what stands "
        "there, store into a second array, and let the two change roles"
    )


def all_in_one_warp(order: HappensBefore, threads: np.ndarray, others: np.ndarray) -> bool:
    return bool((order.warp_of[threads] == order.warp_of[others]).all())
