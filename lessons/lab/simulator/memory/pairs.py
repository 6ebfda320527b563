"""Races over numbers that belong together, such as the best value and where it was found.

Each of them may be changed in one step, and another thread still comes in between the two.
"""

import ast
import itertools
from collections.abc import Iterator

from ...names import cuda_path
from ...source import Source, names_in
from .atomic_advice import ADDS, ATOMICS, UPDATES, change_of, one_step
from .atomic_advice import call as atomic_call
from .data_flow import values_by_name
from .race_sides import Side, barriers_in, parents_in, shared_parents, statement_at, subscripts

KEPT_ATOMICALLY = ("atomic.max", "atomic.min", "atomic.nanmax", "atomic.nanmin")


def pair_advice(now: Side, former: Side, across: bool) -> str:
    """Advice if an element is stored together with another one; else "".

    across: whether the two threads are of different blocks.
    """
    if now.source is not former.source or ast.unparse(now.node) != ast.unparse(former.node):
        return ""
    if ticket(now, former):
        return ticket(now, former)
    for store, other in ((now, former), (former, now)):
        if store.kind != "write" or not isinstance(store.node, ast.Subscript):
            continue
        advice = stored_after_a_flag(store, other)
        if advice:
            return advice
        partner = stored_after_a_look(store, other) or computed_from(store, other)
        if partner:
            return kept_together(ast.unparse(store.node), partner, across)
    return ""


def kept_together(element: str, partner: str, across: bool) -> str:
    where = "in a second launch" if across else "in one thread, after cuda.syncthreads()"
    return (
        f"{element} and {partner} belong together, and an atomic for each would not keep them so: "
        f"give each thread a pair of its own, and bring the pairs together {where}; or hold a "
        "lock while you look and store"
    )


# ---------------------------------------------------------------- if v > best[0]: ...


def stored_after_a_look(store: Side, other: Side) -> str:
    """The element that an `if` compares, where it is stored there with another one; or that one."""
    for condition in conditions_around(store, other):
        stored = stores_in(condition.body)
        for compare in comparisons(condition.test, tuple(UPDATES)):
            looked = [part for part in subscripts(compare) if ast.unparse(part) in stored]
            if len(looked) > 1:  # it compares two elements and moves them, as a sort does
                return ""
            if looked:
                return partner_of(ast.unparse(store.node), looked[0], stored)
            kept = kept_by_an_atomic(store.source, compare)
            if kept and kept != ast.unparse(store.node):
                return kept
    return ""


def partner_of(element: str, looked: ast.Subscript, stored: dict[str, ast.Subscript]) -> str:
    key = ast.unparse(looked)
    if element != key:
        return key
    return next((text for text, part in stored.items() if text != key and alike(part, looked)), "")


def alike(one: ast.Subscript, other: ast.Subscript) -> bool:
    """Whether they are of one array, or at one index of two."""
    arrays = ast.unparse(one.value) == ast.unparse(other.value)
    return arrays or ast.unparse(one.slice) == ast.unparse(other.slice)


def kept_by_an_atomic(source: Source, compare: ast.Compare) -> str:
    """ "best[0]" where a comparison is with what `cuda.atomic.max(best, 0, ...)` has returned."""
    given = (values_by_name(source.tree).get(name, []) for name in sorted(names_in(compare)))
    for value in (compare, *itertools.chain(*given)):
        for call in ast.walk(value):
            if not (isinstance(call, ast.Call) and len(call.args) > 1):
                continue
            if cuda_path(source, call.func) in KEPT_ATOMICALLY:
                return f"{ast.unparse(call.args[0])}[{ast.unparse(call.args[1])}]"
    return ""


def stored_after_a_flag(store: Side, other: Side) -> str:
    """Advice for `if done[0] == 0: done[0] = 1; winner[0] = i`, where the winner's store races."""
    for condition in conditions_around(store, other):
        stored = stores_in(condition.body)
        for compare in comparisons(condition.test, (ast.Eq,)):
            for flag in subscripts(compare):
                text = ast.unparse(flag)
                value = value_stored(condition.body, text)
                if text in stored and text != ast.unparse(store.node) and value is not None:
                    first = one_step(flag, value, condition.test)
                    return f"{first}, and only that thread stores {ast.unparse(store.node)}"
    return ""


def conditions_around(store: Side, other: Side) -> Iterator[ast.If]:
    """The `if`s under which an element is stored, and within which the other thread is as well."""
    return (part for part in shared_parents(store, other) if isinstance(part, ast.If))


def comparisons(test: ast.expr, kinds: tuple[type, ...]) -> Iterator[ast.Compare]:
    for part in ast.walk(test):
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], kinds):
            yield part


def stores_in(body: list[ast.stmt]) -> dict[str, ast.Subscript]:
    """Text -> element, of all that some statements store."""
    parts = (part for statement in body for part in subscripts(statement))
    return {ast.unparse(part): part for part in parts if isinstance(part.ctx, ast.Store)}


def value_stored(body: list[ast.stmt], text: str) -> ast.expr | None:
    for statement in body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == text:
            return statement.value
    return None


# ---------------------------------------------------------------- place = count[0]; count[0] += 1


def ticket(now: Side, former: Side) -> str:
    """Advice if one line reads a counter, and another one beside it counts on; else "".

    A sum that is read behind its line may be meant to be the whole of it: that needs a barrier.
    """
    if not isinstance(now.node, ast.Subscript):
        return ""
    text = ast.unparse(now.node)
    lines = lines_beside(now)
    if any(statement_at(side) not in lines for side in (now, former)):
        return ""
    for line in lines:
        change = counted_on(line, lines, text)
        if change is None:
            continue
        atomic, added = change
        for reader in lines:
            if reader is line or not reads_only(reader, text):
                continue
            if reader.lineno < line.lineno or isinstance(added, ast.Constant):
                one_step = atomic_call(atomic, now.node, *filter(None, [added]))
                return (
                    f"another thread comes in between the lines {reader.lineno} and {line.lineno}, "
                    f"and gets the same number: {one_step} is one step, and returns what was there "
                    "before; use that"
                )
    return ""


def counted_on(
    line: ast.stmt, lines: list[ast.stmt], text: str
) -> tuple[str, ast.expr | None] | None:
    """(atomic, what is added if that is known) of a line that adds to an element.

    Also of `count[0] = place + 1` where one of the lines is `place = count[0]`.
    """
    change = change_of(line)
    if change is not None and change[1] in ADDS and ast.unparse(change[0]) == text:
        return str(change[1]), line.value if isinstance(line, ast.AugAssign) else None
    if not isinstance(line, ast.Assign) or ast.unparse(line.targets[0]) != text:
        return None
    added_up = line.value
    if not isinstance(added_up, ast.BinOp) or ATOMICS.get(type(added_up.op)) not in ADDS:
        return None
    copies = [other for other in lines if isinstance(other, ast.Assign)]
    names = {ast.unparse(o.targets[0]) for o in copies if ast.unparse(o.value) == text}
    is_copy = ast.unparse(added_up.left) in names
    return (ATOMICS[type(added_up.op)], added_up.right) if is_copy else None


def reads_only(statement: ast.stmt, text: str) -> bool:
    """Whether a statement reads an element, and changes none by what that holds."""
    reads = (part for part in subscripts(statement) if isinstance(part.ctx, ast.Load))
    return change_of(statement) is None and text in map(ast.unparse, reads)


# ---------------------------------------------------------------- count[0] += 1; mean[0] += ...


def computed_from(store: Side, other: Side) -> str:
    """The other one of two elements that lines side by side change, one computed from the other."""
    changes = changes_beside(store, other)
    elements = {text: target for text, target, _ in changes}
    racing = ast.unparse(store.node)
    for text, target, line in changes:
        for used in map(ast.unparse, subscripts(line)):
            if used == text or used not in elements or not alike(target, elements[used]):
                continue
            if racing in (text, used):
                return used if racing == text else text
    return ""


def changes_beside(store: Side, other: Side) -> list[tuple[str, ast.Subscript, ast.stmt]]:
    """(text, element, line) of the changes in the few lines that both places are in."""
    lines = lines_beside(store)
    if statement_at(other) not in lines:
        return []
    changes = ((change_of(line), line) for line in lines)
    return [(ast.unparse(change[0]), change[0], line) for change, line in changes if change]


def lines_beside(store: Side) -> list[ast.stmt]:
    """The statements of the same block of code; none if threads wait for each other there."""
    statement = statement_at(store)
    if statement is None:
        return []
    parent = parents_in(store.source.tree)[statement]
    for field in ("body", "orelse"):
        lines = getattr(parent, field, [])
        if statement in lines:
            first, last = lines[0].lineno, lines[-1].end_lineno
            barriers = barriers_in(store.source.tree)
            return [] if any(first <= line <= last for line in barriers) else lines
    return []
