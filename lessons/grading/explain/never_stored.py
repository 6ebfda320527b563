"""What is told of memory that nobody has written: which guard stops the store, or what else it is.

The simulator asks a question, as it knows no more than that; where the text of the file answers it,
or a part of it, that part is left out.
"""

import ast
import re
from collections.abc import Sequence

from lessons.course.source_text import syntax_tree
from lessons.grading.explain.guarded_store import Store, guarded_store, is_element

# The questions of the simulator.
A_BARRIER = ": is a barrier or a store missing?"
OTHER_PLACES = ": is it stored at other places"
OR_A_GUARD = ", or does a guard stop the store"
IS_READ = re.compile(r"(\w+)\[[^]]*\] is read")


def stored_by_some(message: str, line: int, source: Sequence[str]) -> list[str]:
    """Which `if` stops threads that should have stored what another one reads."""
    array = IS_READ.search(message)
    if array is None:
        return []
    store = guarded_store(array[1], line, source)
    return [told_of_store(store, array[1], source, message)] if store else []


def told_of_store(store: Store, array: str, source: Sequence[str], message: str) -> str:
    stores = f"line {store.line}, which stores into {array}"
    if store.returns:
        return (
            f"threads that return in line {store.returns} never come to {stores}: others may read "
            "what these should have stored"
        )
    if not store.guard:
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
    tree = syntax_tree("\n".join(source))
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            return node
    return None


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
