"""Races in which an element is asked for in one step, and gets a new value in another one.

`old = cuda.atomic.add(counts, k, 0)`, then `counts[k] = old + 1`; or `old = counts[k]`, then
`cuda.atomic.exch(counts, k, old + 1)`. Others do the same in between.
"""

import ast

from ...names import CudaName, resolve
from .given_values import parts_with_names, text_of_index, values_of
from .places import Side, line_of, statement_at

# Atomics that leave an element as it is if they are given a zero.
UNCHANGED_BY_ZERO = ("atomic.add", "atomic.sub", "atomic.or_", "atomic.xor")
ONE_STEP = {ast.Add: "add", ast.Sub: "sub"}
ARGUMENTS = 3  # array, index, value
LOST = "other threads do the same, and one of the changes is lost"


def changed_in_two_steps(now: Side, former: Side) -> str:
    """Advice if a new value is stored that is made of the one that was asked for; else ""."""
    if now.source is not former.source or has_lock(now):
        return ""
    return exchanged_later(now, former) or stored_later(now, former) or stored_later(former, now)


# ---------------------------------------------------------------- an atomic, then a store


def stored_later(store: Side, other: Side) -> str:
    """Advice if a plain store gives an element what is made of an atomic's answer about it.

    other: meets the store, there or in that atomic.
    """
    statement = statement_at(store)
    plain = store.kind == "write" and isinstance(store.node, ast.Subscript)
    if not plain or not isinstance(statement, ast.Assign):
        return ""
    made_of = parts_with_names(statement.value, store.source.tree)
    calls = [part for part in made_of if isinstance(part, ast.Call) and is_of(store, part)]
    if len(calls) != 1:
        return ""
    (asked,) = calls
    if other.node is not asked and other.node is not store.node:
        return ""
    amount, text = asked.args[-1], ast.unparse(asked)
    if is_zero(amount):
        return f"{text} only asks what {ast.unparse(store.node)} holds, and {lost(store, asked)}"
    changed = change(store, statement.value, asked)
    added = ast.unparse(asked.func).endswith(".add")
    if line_of(asked) != line_of(store.node) and added and changed == ("add", ast.unparse(amount)):
        return (
            f"{text} has added already what line {line_of(store.node)} adds once more to the value "
            "of before: leave out that store"
        )
    return ""


def is_of(store: Side, call: ast.Call) -> bool:
    """Whether a call is an atomic that adds to the element of a store, or the like."""
    name = resolve(store.source, call.func)
    path = name.path if isinstance(name, CudaName) else ""
    return path in UNCHANGED_BY_ZERO and element_of(call) == ast.unparse(store.node)


def element_of(call: ast.Call) -> str:
    """ "counts[k]" of an atomic of counts and k."""
    if len(call.args) != ARGUMENTS:
        return ""
    array, index, _ = call.args
    return f"{ast.unparse(array)}[{text_of_index(index)}]"


def is_zero(amount: ast.expr) -> bool:
    """Whether it is 0, or float32(0)."""
    if isinstance(amount, ast.Call) and len(amount.args) == 1:
        amount = amount.args[0]
    return isinstance(amount, ast.Constant) and amount.value == 0


# ---------------------------------------------------------------- a reading, then an exchange


def exchanged_later(now: Side, former: Side) -> str:
    """Advice if an exchange gives an element a value that is made of what was read of it."""
    atomic, read = (now, former) if now.atomic else (former, now)
    call = atomic.node
    if read.kind != "read" or not isinstance(call, ast.Call):
        return ""
    name = resolve(now.source, call.func)
    exchanges = isinstance(name, CudaName) and name.path == "atomic.exch"
    if not exchanges or element_of(call) != ast.unparse(read.node):
        return ""
    made_of = parts_with_names(call.args[-1], now.source.tree)
    if not any(part is read.node for part in made_of):
        return ""
    return f"the exchange is one step, but without the reading: {lost(atomic, read.node)}"


def has_lock(side: Side) -> bool:
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("cas", "compare_and_swap")
        for part in ast.walk(side.source.tree)
    )


# ---------------------------------------------------------------- what would be one step


def lost(store: Side, asked: ast.AST) -> str:
    """What happens between the two steps, and which atomic makes one of them.

    store: an assignment, or an exchange. asked: where the old value comes from.
    """
    line, behind = line_of(asked), line_of(store.node)
    why = f"{'in between' if line == behind else f'before line {behind} stores'} {LOST}"
    if isinstance(store.node, ast.Call):
        array, index, value = store.node.args
    else:
        statement = statement_at(store)
        if not isinstance(statement, ast.Assign) or not isinstance(asked, ast.Call):
            return why
        array, index, value = *asked.args[:2], statement.value
    name, amount = change(store, value, asked)
    if not name:
        return f"{why}. Asking and changing have to be one atomic step"
    one_step = f"cuda.atomic.{name}({ast.unparse(array)}, {ast.unparse(index)}, {amount})"
    return f"{why}. {one_step} does all of it in one step"


def change(store: Side, value: ast.expr, asked: ast.AST) -> tuple[str, str]:
    """("add", "1") where `old + 1` is stored, also by way of a name; two empty texts if unknown."""
    tree = store.source.tree
    value = the_value(value, tree)
    if not isinstance(value, ast.BinOp):
        return "", ""
    left, right = (the_value(part, tree) is asked for part in (value.left, value.right))
    name = ONE_STEP.get(type(value.op), "")
    if name and left and not right:
        return name, ast.unparse(value.right)
    return (name, ast.unparse(value.left)) if name == "add" and right and not left else ("", "")


def the_value(node: ast.expr, tree: ast.FunctionDef) -> ast.expr:
    """What a name is given, if that is one thing; anything else as it is."""
    named = values_of(node.id, tree) if isinstance(node, ast.Name) else []
    return named[0] if len(named) == 1 else node
