"""Races over a change that has to be one atomic step, and which atomic makes it one."""

import ast
from collections.abc import Iterator

from ...names import cuda_path
from ...source import names_given_in, names_in
from .arrays import Memory
from .data_flow import added_by_all, chosen_by_data, first_thread_of_block, values_by_name
from .race_sides import (
    Side,
    common_loop,
    in_two_branches,
    line_of,
    statement_at,
    stores_of,
    subscripts,
    waiting_loops,
)

# How an operation on an element is made one step.
ATOMICS = {
    ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
ATOMICS_OF_FUNCTIONS = {"min": "min", "max": "max"}
OWN_ELEMENTS = (
    "give each thread an element of its own, and bring them together after cuda.syncthreads(); or "
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
    own = now.memory.space == "shared" and not chosen_by_data(now.source, target)
    return f"{what}: {OWN_ELEMENTS * own}{one_step}"


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
    own = now.memory.space == "shared" and not by_data
    return f"{what}: {OWN_ELEMENTS * own}{one_step}"


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
    return bool(names_in(changes[0][0].slice) & names_given_in(loop))


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
    for store, element, statement, other in stores_of(now, former):
        text = ast.unparse(element)
        if ast.unparse(other.node) != text:
            continue
        tests = (part.test for part in store.around if isinstance(part, (ast.If, ast.While)))
        for test in tests:
            looks = [part for part in subscripts(test) if ast.unparse(part) == text]
            if looks and (other.node in looks or other.node is store.node):
                return one_step(element, statement.value, test)
    return ""


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
    for _, element, statement, look in stores_of(now, former):
        value = statement.value
        if look.kind != "read" or ast.unparse(look.node) != ast.unparse(element):
            continue
        waits = f"{ast.unparse(element)} == {ast.unparse(value)}"
        for parent in look.around:
            if isinstance(parent, ast.While) and ast.unparse(parent.test) == waits:
                taken = call("cas", element, ast.Constant(0), value)
                return (
                    "another thread can take the lock between the look and the store: "
                    f"`while {taken} != 0: pass` looks and takes it in one step, and then a fence"
                )
    return ""


def plain_flag(now: Side, former: Side) -> str:
    """One thread waits in a loop for what the other stores: `while flags[k] == 0: pass`."""
    for _, element, statement, look in stores_of(now, former):
        flag = look.node
        if look.kind != "read" or not isinstance(flag, ast.Subscript):
            continue
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
    return any(cuda_path(side.source, call.func).startswith("atomic.") for call in of_array)


# -------------------------------------------------------- atomics that are given the old value

# An atomic reads the element by itself. Who reads it before, too, has taken it for a store.


# Atomics that combine the element with what they are given: to those, the old value is no use.
COMBINES = {
    "atomic.add": "adds", "atomic.sub": "subtracts", "atomic.max": "compares",
    "atomic.min": "compares", "atomic.nanmax": "compares", "atomic.nanmin": "compares",
}  # fmt: skip
ARGUMENTS = 3  # of an atomic: array, index, value


def new_value_given(now: Side, former: Side) -> str:
    """Advice if an atomic is given a new value, made of the element that it changes; else ""."""
    if now.source is not former.source or now.atomic == former.atomic:
        return ""
    atomic, read = (now.node, former) if now.atomic else (former.node, now)
    if not isinstance(atomic, ast.Call) or not isinstance(read.node, ast.Subscript):
        return ""
    path, element = cuda_path(now.source, atomic.func), ast.unparse(read.node)
    if read.kind != "read" or path not in COMBINES or element_of(atomic) != element:
        return ""
    made_of = list(parts_with_names(atomic.args[-1], now.source.tree))
    if not any(part is read.node for part in made_of):
        return ""
    what = f"cuda.{path} reads {element} and {COMBINES[path]} by itself"
    given = what_is_added(made_of, read.node, now.source.tree) if path == "atomic.add" else ""
    only = f"only what is to be added, {given}" if given else "only the number that comes to it"
    return f"{what}: give it {only}, and no new value made of {element}"


def text_of_index(index: ast.expr) -> str:
    """As it stands between square brackets."""
    return ast.unparse(ast.Subscript(ast.Name("x"), index))[2:-1]


def parts_with_names(value: ast.expr, tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """All parts of a value, and of what is assigned to the names in it."""
    seen: set[str] = set()
    waiting = [value]
    while waiting:
        for part in ast.walk(waiting.pop()):
            yield part
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += values_by_name(tree).get(part.id, [])


def what_is_added(parts: list[ast.AST], element: ast.Subscript, tree: ast.FunctionDef) -> str:
    """ "1" where the value is made as `element + 1`, also by way of a name; else ""."""
    sums = [p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Add)]
    for sum_ in sums:
        for old, more in ((sum_.left, sum_.right), (sum_.right, sum_.left)):
            if the_value(old, tree) is element:
                return ast.unparse(more)
    return ""


# -------------------------------------------------------- an atomic, and a store of its result

# `old = cuda.atomic.add(counts, k, 0)`, then `counts[k] = old + 1`; or `old = counts[k]`, then
# `cuda.atomic.exch(counts, k, old + 1)`. Others do the same in between.


# Atomics that leave an element as it is if they are given a zero.
UNCHANGED_BY_ZERO = ("atomic.add", "atomic.sub", "atomic.or_", "atomic.xor")
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
    unchanged = cuda_path(store.source, call.func) in UNCHANGED_BY_ZERO
    return unchanged and element_of(call) == ast.unparse(store.node)


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
    exchanges = cuda_path(now.source, call.func) == "atomic.exch"
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
    name = ATOMICS.get(type(value.op), "")
    if name in ADDS and left and not right:
        return name, ast.unparse(value.right)
    return (name, ast.unparse(value.left)) if name == "add" and right and not left else ("", "")


def the_value(node: ast.expr, tree: ast.FunctionDef) -> ast.expr:
    """What a name is given, if that is one thing; anything else as it is."""
    named = values_by_name(tree).get(node.id, []) if isinstance(node, ast.Name) else []
    return named[0] if len(named) == 1 else node
