"""What is told of memory that nobody has written: which guard stops the store, or what else it is.

Often all that a function stores into an array stands behind an `if`, or behind a `return`, a
`break` or a `continue` that some threads take: a guard stops threads that fetch for others, or the
zero is missing for places beyond an edge.

The simulator asks a question, as it knows no more than that; where the text of the file answers it,
or a part of it, that part is left out.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons.course.source_text import syntax_tree
from lessons.mutations.source import Source

# The questions of the simulator.
A_BARRIER = ": is a barrier or a store missing?"
OTHER_PLACES = ": is it stored at other places"
OR_A_GUARD = ", or does a guard stop the store"
IS_READ = re.compile(r"(\w+)\[[^]]*\] is read")

# Function -> the numbers of the parameters that it stores into.
Stored = Mapping[str, frozenset[int]]
NO_HELPERS: Stored = {}


class Store(NamedTuple):
    line: int
    guard: int  # the line of the `if` that it stands behind; 0 if it stands behind none
    returns: int = 0  # the line of a `return` that some threads have taken before
    skips: int = 0  # the line of a `break` or a `continue` that leaves out its round

    @property
    def may_be_left_out(self) -> bool:
        return bool(self.guard or self.returns or self.skips)


def guarded_store(array: str, line: int, source: Sequence[str]) -> Store | None:
    """The first store into `array` in the function around a line, if each one may be left out.

    Where that one stores nothing into it: the same in others that have an array of this name.
    """
    tree = syntax_tree("\n".join(source))
    elsewhere: list[Store] = []
    if tree is None:
        return None
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        stores = list(stores_in(node.body, array, 0, stored_parameters(tree)))
        for name in names_within(tree, node, array) if not stores else ():
            stores += stores_in(node.body, name, 0)
        guarded = stores[:1] if all(store.may_be_left_out for store in stores) else []
        if node.lineno <= line <= (node.end_lineno or 0) and stores:
            return guarded[0] if guarded else None
        elsewhere += guarded
    return elsewhere[0] if elsewhere else None


def names_within(tree: ast.Module, function: ast.FunctionDef, array: str) -> set[str]:
    """What a function calls this array, which others hand to it."""
    parameters = [argument.arg for argument in function.args.args]
    calls = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function.name
    )
    return {
        name
        for call in calls
        for name, given in zip(parameters, call.args, strict=False)
        if isinstance(given, ast.Name) and given.id == array
    }


def stored_parameters(tree: ast.Module) -> Stored:
    """Into which of its parameters each function of a file stores, whichever thread it is."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            stores = [list(stores_in(node.body, name, 0)) for name in names]
            always = (
                number
                for number, one in enumerate(stores)
                if one and not any(store.may_be_left_out for store in one)
            )
            found[node.name] = frozenset(always)
    return found


def stores_in(
    statements: Iterable[ast.stmt], array: str, guard: int, helpers: Stored = NO_HELPERS
) -> Iterator[Store]:
    """helpers: of the file, whose calls are stores, too; see `stored_parameters`."""
    returns = skips = 0
    for statement in statements:
        if isinstance(statement, ast.If):
            for store in stores_of_both_ways(statement, array, guard, helpers):
                yield left_out_by(store, returns, skips)
            returns = returns or line_of(statement, ast.Return)
            skips = skips or line_of(statement, ast.Break, ast.Continue)
        elif isinstance(statement, (ast.For, ast.While)):
            inner = stores_in(statement.body, array, guard, helpers)
            for store in inner:
                own = 0 if ends_by_itself(statement, store.skips) else store.skips
                yield left_out_by(store._replace(skips=own), returns, skips)
        elif isinstance(statement, ast.Expr) and stores_by_call(statement.value, array, helpers):
            yield Store(statement.lineno, guard, returns, skips)
        elif isinstance(statement, ast.Assign):
            targets = (ast.walk(target) for target in statement.targets)
            if any(is_element(node, array) for nodes in targets for node in nodes):
                yield Store(statement.lineno, guard, returns, skips)


def left_out_by(store: Store, returns: int, skips: int) -> Store:
    return store._replace(returns=store.returns or returns, skips=store.skips or skips)


def ends_by_itself(loop: ast.For | ast.While, line: int) -> bool:
    """Whether the `break` of a line is the end of a `while True`, and leaves nothing out."""
    endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)
    breaks = (node.lineno for node in ast.walk(loop) if isinstance(node, ast.Break))
    return endless and line in breaks


def line_of(statement: ast.If, *kinds: type[ast.stmt]) -> int:
    """The line of the `return`, say, that an `if` without an `else` ends with; else 0."""
    last = statement.body[-1]
    return last.lineno if isinstance(last, kinds) and not statement.orelse else 0


def stores_by_call(value: ast.expr, array: str, helpers: Stored) -> bool:
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
        return False
    stored = helpers.get(value.func.id, frozenset())
    return any(
        isinstance(given, ast.Name) and given.id == array and place in stored
        for place, given in enumerate(value.args)
    )


def stores_of_both_ways(
    statement: ast.If, array: str, guard: int, helpers: Stored
) -> Iterator[Store]:
    """The stores of an `if`; those of both its ways together are a store without a guard."""
    first = list(stores_in(statement.body, array, statement.lineno, helpers))
    second = list(stores_in(statement.orelse, array, statement.lineno, helpers))
    if first and second:
        yield from (store._replace(guard=guard) for store in first + second)
    else:
        yield from first + second


def is_element(node: ast.AST, array: str) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == array
    )


# ---------------------------------------------------------------- words


def stored_by_some(message: str, line: int, source: Sequence[str]) -> list[str]:
    """Which `if` stops threads that should have stored what another one reads."""
    array = IS_READ.search(message)
    if array is None:
        return []
    store = guarded_store(array[1], line, source)
    if store and "local memory" in message:  # a thread has read it where it goes itself
        around = function_around(line, source)
        here = around and around.lineno <= store.line <= (around.end_lineno or 0)
        store = store if here else None
    return [told_of_store(store, array[1], source, message)] if store else []


def told_of_store(store: Store, array: str, source: Sequence[str], message: str) -> str:
    stores = f"line {store.line}, which stores into {array}"
    if store.returns:
        return (
            f"threads that return in line {store.returns} never come to {stores}: others may read "
            "what these should have stored"
        )
    if store.skips > store.guard:  # the one that is nearer
        word = "break" if "break" in source[store.skips - 1] else "continue"
        return (
            f"a thread that comes to the `{word}` of line {store.skips} leaves out {stores}: what "
            "is to stand in the places that it should have filled from there on?"
            if word == "break"
            else f"in rounds that come to the `{word}` of line {store.skips}, a thread leaves out "
            f"{stores}: what is to stand in their places?"
        )
    only = f"line {store.line} stores into {array} only where the `if` of line {store.guard} "
    if "blockIdx" in source[store.guard - 1] and "shared memory" in message:
        return f"{only}lets it: each block has shared memory of its own, so each has to store"
    return f"{only}lets it: what is to stand there where it does not?"


def without_questions(message: str, line: int, source: Sequence[str], is_told: bool) -> str:
    """What the simulator says, without the part of its question that the file answers.

    is_told: whether advice follows.
    """
    array = IS_READ.search(message)
    if array is None:
        return message
    if is_told:
        message = message.partition(OTHER_PLACES)[0]
    function = function_around(line, source)
    stores = stores_of(function, array[1]) if function else []
    if function is None or not stores:
        return message
    if all(waits_between(function, store, line) for store in stores) and is_told:
        message = message.replace(A_BARRIER, "")
    if not any(may_be_stopped(function, store) for store in stores):
        message = message.replace(OR_A_GUARD, "")
    return message


def function_around(line: int, source: Sequence[str]) -> ast.FunctionDef | None:
    functions = Source("\n".join(source)).functions().values()
    return next((f for f in functions if f.lineno <= line <= (f.end_lineno or 0)), None)


def stores_of(function: ast.FunctionDef, array: str) -> list[int]:
    """The lines in which a function stores into an array."""
    return [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and is_element(node, array)
        and isinstance(node.ctx, ast.Store)
    ]


def waits_between(function: ast.FunctionDef, store: int, read: int) -> bool:
    """Whether a barrier stands between a line that stores and one that reads, later or next time.

    Next time is the next round of the innermost loop around both.
    """
    barriers = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "cuda.syncthreads"
    ]
    if store < read:
        return any(store < line < read for line in barriers)
    begin, end = innermost_loop(function, read, store)
    return any(begin < line < read or store < line <= end for line in barriers)


def innermost_loop(function: ast.FunctionDef, *lines: int) -> tuple[int, int]:
    """The first and the last line of the innermost loop around these lines; (0, 0) without one."""
    loops = [
        (node.lineno, node.end_lineno or 0)
        for node in ast.walk(function)
        if isinstance(node, (ast.For, ast.While))
    ]
    around = [loop for loop in loops if all(loop[0] <= line <= loop[1] for line in lines)]
    return min(around, key=lambda loop: loop[1] - loop[0], default=(0, 0))


def may_be_stopped(function: ast.FunctionDef, store: int) -> bool:
    """Whether an `if` stands around a line, or a `return`, a `break` or a `continue` before it."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)) and node.lineno < store:
            return True
        if isinstance(node, (ast.If, ast.IfExp)) and node.lineno <= store <= (node.end_lineno or 0):
            return True
    return False


def about_local_memory(message: str, source: Sequence[str]) -> list[str]:
    """Why an element of cuda.local.array may have no value."""
    array = IS_READ.search(message)
    if "local memory" not in message or not array:
        return []
    # Stored to, or handed to a function that may do so under another name.
    begun = re.compile(rf"\b{array[1]}\[.*\]\s*=[^=]|\w\([^()]*\b{array[1]}\b(?!\[)")
    if not any(begun.search(line.partition("#")[0]) for line in source):
        return [f"no line begins {array[1]} with `=`: a sum begins at float32(0), in each element"]
    return ["cuda.local.array belongs to one thread; others read cuda.shared.array"]
