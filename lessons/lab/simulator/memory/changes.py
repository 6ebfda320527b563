"""Races in which an element is looked at and then changed: which atomic makes one step of it."""

import ast
from collections.abc import Iterator

from ...names import CudaName, resolve
from .arrays import Memory
from .origins import added_by_all, chosen_by_data, first_thread_of_block, names_given_in
from .places import (
    Side,
    common_loop,
    in_two_branches,
    parents_in,
    parents_of,
    statement_at,
    subscripts,
    waiting_loops,
)

# How an operation on an element is made one step.
ATOMICS = {
    ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
ATOMICS_OF_FUNCTIONS = {"min": "min", "max": "max"}
OWN_ELEMENTS = (
    "give each thread an element of its own, and bring them together after cuda.syncthreads()"
)
ADDS = ("add", "sub")  # in any order
# `if value < element: element = value`, and how it is made one step
UPDATES = {ast.Lt: "min", ast.LtE: "min", ast.Gt: "max", ast.GtE: "max"}
MIRRORED = {"min": "max", "max": "min"}


def atomic_advice(now: Side, former: Side, same_round: bool) -> str:
    """Advice if a race is about a change that has to be one step; else "".

    same_round: whether the two accesses are in one round of a loop.
    """
    if now.source is not former.source or now.atomic or former.atomic:
        return ""
    if waiting_is_enough(now, former, same_round):
        return ""
    for find in (read_modify_write, two_changes, taken_lock, plain_flag, look_and_store):
        advice = find(now, former)
        if advice:
            return advice + what_atomics_take(now.memory, advice)
    return ""


def what_atomics_take(memory: Memory, advice: str) -> str:
    """What to change in an array so that the atomics of an advice can be used on it."""
    dtype = memory.data.dtype
    if "cuda.atomic." not in advice:
        return ""
    if dtype.itemsize < 4:
        wide = "int32" if dtype.kind in "iub" else "float32"
        return f" (atomics take 32 or 64 bits, and this array is of {dtype}: make it one of {wide})"
    if dtype.kind == "f" and any(name in advice for name in ("atomic.cas", "atomic.exch")):
        return f" (it takes whole numbers, and this array is of {dtype}: make it one of int32)"
    return ""


def old_value_stored(now: Side, former: Side) -> str:
    """Advice if what an atomic returns is stored where it has just changed something; else ""."""
    statement = statement_at(now)
    if statement is not statement_at(former) or not isinstance(statement, ast.Assign):
        return ""
    target = statement.targets[0]
    array = ast.unparse(target.value) if isinstance(target, ast.Subscript) else ""
    for part in ast.walk(statement.value):
        if isinstance(part, ast.Call) and "cuda.atomic." in ast.unparse(part.func):
            if part.args and ast.unparse(part.args[0]) == array:
                return (
                    f"{ast.unparse(part.func)} has changed the element already, and what it "
                    "returns is the value of before: leave out the assignment"
                )
    return ""


# ---------------------------------------------------------------- element += ...


def read_modify_write(now: Side, former: Side) -> str:
    """Both threads are within one change of one element, such as +=."""
    statement = statement_at(now)
    if statement is not statement_at(former):
        return ""
    changed = change_of(statement)
    if changed is None:
        return ""
    target, name = changed
    text = ast.unparse(target)
    if ast.unparse(now.node) != text or ast.unparse(former.node) != text:
        return ""
    what = f"this is a read-modify-write of {text} in several steps, and one of the changes is lost"
    if name is None:
        return f"{what}: let one thread do all of them, or use a lock"
    one_step = f"{call(name, target)} makes it one step"
    added = statement.value if isinstance(statement, ast.AugAssign) else None
    if name == "add" and added is not None and added_by_all(now, target, added):
        return (
            f"all threads of a block add the same numbers to {text}: let one of them do it, under "
            f"`if {first_thread_of_block(now.source.tree)}:`. Where several blocks add, {one_step}"
        )
    if now.memory.space == "shared" and not chosen_by_data(now.source, target):
        return f"{what}: {OWN_ELEMENTS}; or {one_step}"
    return f"{what}: {one_step}"


def two_changes(now: Side, former: Side) -> str:
    """Each thread is within another change of the element, and their order does not matter."""
    changes = change_of(statement_at(now)), change_of(statement_at(former))
    atomics = []
    for side, change in zip((now, former), changes, strict=True):
        if change is None or change[1] is None or ast.unparse(side.node) != ast.unparse(change[0]):
            return ""
        atomics.append(call(change[1], change[0]))
    names = {change[1] for change in changes if change}
    if len(names) > 1 and not names <= set(ADDS):
        return ""
    what = "both lines change an element in several steps, and one of the changes is lost"
    one_step = f"{atomics[0]} and {atomics[1]} make each of them one step"
    by_data = any(chosen_by_data(now.source, change[0]) for change in changes if change)
    if now.memory.space == "shared" and not by_data:
        return f"{what}: {OWN_ELEMENTS}; or {one_step}"
    return f"{what}: {one_step}"


def waiting_is_enough(now: Side, former: Side, same_round: bool) -> bool:
    """Whether a barrier is missing, and no atomic, between two changes in shared memory.

    So it is where each thread has an element of its own at a time, and goes on to another one.
    """
    changes = change_of(statement_at(now)), change_of(statement_at(former))
    if now.memory.space != "shared" or None in changes:
        return False
    if any(change and chosen_by_data(now.source, change[0]) for change in changes):
        return False
    if statement_at(now) is not statement_at(former):
        return not in_two_branches(now, former)
    loop = common_loop(now, former)
    if loop is None or same_round or changes[0] is None:
        return False
    names = {part.id for part in ast.walk(changes[0][0].slice) if isinstance(part, ast.Name)}
    return bool(names & names_given_in(loop))


def change_of(statement: ast.stmt | None) -> tuple[ast.Subscript, str | None] | None:
    """(element, name of the atomic) of a statement that changes an element by what it holds."""
    if isinstance(statement, ast.AugAssign):
        target: ast.expr = statement.target
        name = None if reads(statement.value, target) else ATOMICS.get(type(statement.op))
    elif isinstance(statement, ast.Assign):
        target, name = statement.targets[0], atomic_of(statement.value, statement.targets[0])
        if not reads(statement.value, target):
            return None
    else:
        return None
    return (target, name) if isinstance(target, ast.Subscript) else None


def atomic_of(value: ast.expr, target: ast.expr) -> str | None:
    """The atomic that does the same: the element is one of two operands, and not in the other."""
    if isinstance(value, ast.BinOp):
        name, operands = ATOMICS.get(type(value.op)), [value.left, value.right]
    elif isinstance(value, ast.Call):
        name, operands = ATOMICS_OF_FUNCTIONS.get(ast.unparse(value.func)), value.args
    else:
        return None
    itself = [ast.unparse(operand) == ast.unparse(target) for operand in operands]
    others = [operand for operand, same in zip(operands, itself, strict=True) if not same]
    if len(operands) != 2 or len(others) != 1 or reads(others[0], target):
        return None
    return name if name != "sub" or itself[0] else None


def reads(value: ast.expr, element: ast.expr) -> bool:
    return ast.unparse(element) in map(ast.unparse, subscripts(value))


def call(name: str, target: ast.Subscript, *more: ast.expr) -> str:
    """ "cuda.atomic.add(total, 0, ...)", with its other arguments if they are known."""
    index = ast.unparse(target.slice)
    if isinstance(target.slice, ast.Tuple):
        index = f"({index})" if not index.startswith("(") else index
    rest = ", ".join(map(ast.unparse, more)) or "..."
    return f"cuda.atomic.{name}({ast.unparse(target.value)}, {index}, {rest})"


# ---------------------------------------------------------------- if element ...: element = ...


def look_and_store(now: Side, former: Side) -> str:
    """One thread stores to an element under an `if` that looks at it."""
    for store in (now, former):
        statement = statement_at(store)
        if store.kind != "write" or not isinstance(statement, ast.Assign):
            continue
        text = ast.unparse(store.node)
        other = former if store is now else now
        if ast.unparse(other.node) != text or not isinstance(store.node, ast.Subscript):
            continue
        for test in tests_around(store):
            looks = [part for part in subscripts(test) if ast.unparse(part) == text]
            if looks and (other.node in looks or other.node is store.node):
                return one_step(store.node, statement.value, test)
    return ""


def tests_around(side: Side) -> Iterator[ast.expr]:
    for parent in parents_of(parents_in(side.source.tree), side.node):
        if isinstance(parent, (ast.If, ast.While)):
            yield parent.test


def one_step(element: ast.Subscript, value: ast.expr, test: ast.expr) -> str:
    """Advice for `if test: element = value`."""
    text, array = ast.unparse(element), ast.unparse(element.value)
    if any(ast.unparse(part.value) == array for part in subscripts(value)):
        return ""  # it moves elements, as a sort does
    what = f"between the look at {text} and the store, another thread can store, too"
    for part in ast.walk(test):
        if not (isinstance(part, ast.Compare) and len(part.ops) == 1):
            continue
        sides = [ast.unparse(part.left), ast.unparse(part.comparators[0])]
        if text not in sides:
            continue
        if isinstance(part.ops[0], ast.Eq):
            old = part.comparators[0] if sides[0] == text else part.left
            if ast.unparse(old) == ast.unparse(value):
                return f"a lock is opened by {call('exch', element, value)}, behind a fence"
            won = f"who gets back {ast.unparse(old)} was the first"
            return f"{what}: {call('cas', element, old, value)} is one step; {won}"
        name = UPDATES.get(type(part.ops[0]))
        if name and ast.unparse(value) in sides:
            name = MIRRORED[name] if sides[0] == text else name
            return f"{what}: {call(name, element, value)} is one step"
    return f"{what}: cuda.atomic.cas is one step; or use a lock"


def taken_lock(now: Side, former: Side) -> str:
    """One thread waits in a loop `while lock[0] == 1`, and stores that 1 after it."""
    for store, look in ((now, former), (former, now)):
        statement = statement_at(store)
        if (store.kind, look.kind) != ("write", "read") or not isinstance(statement, ast.Assign):
            continue
        element, value = store.node, statement.value
        if not isinstance(element, ast.Subscript) or ast.unparse(look.node) != ast.unparse(element):
            continue
        waits = f"{ast.unparse(element)} == {ast.unparse(value)}"
        for parent in parents_of(parents_in(look.source.tree), look.node):
            if isinstance(parent, ast.While) and ast.unparse(parent.test) == waits:
                taken = call("cas", element, ast.Constant(0), value)
                return (
                    "another thread can take the lock between the look and the store: "
                    f"`while {taken} != 0: pass` looks and takes it in one step, and then a fence"
                )
    return ""


def plain_flag(now: Side, former: Side) -> str:
    """One thread waits in a loop for what the other stores: `while flags[k] == 0: pass`."""
    stored, look = (now, former) if now.kind == "write" else (former, now)
    statement = statement_at(stored)
    if (stored.kind, look.kind) != ("write", "read") or not isinstance(statement, ast.Assign):
        return ""
    element, flag = stored.node, look.node
    if not isinstance(element, ast.Subscript) or not isinstance(flag, ast.Subscript):
        return ""
    for loop in waiting_loops(look.source):
        if any(part is flag for part in ast.walk(loop.test)):
            atomic = call("add", flag, ast.Constant(0))
            test = ast.unparse(loop.test).replace(ast.unparse(flag), atomic)
            done = call("exch", element, statement.value)
            return (
                f"a flag orders nothing by itself: set it by {done} behind cuda.threadfence(), "
                f"and wait for it by `while {test}: pass`, and a fence"
            )
    return ""


# ---------------------------------------------------------------- among atomics


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
