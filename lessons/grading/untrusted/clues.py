"""What a kernel's code tells about a mistake, where its results leave more than one cause."""

import ast
from collections.abc import Iterator, Sequence

from lessons.grading.untrusted.submission import names_in

SWAPS = {"cas", "compare_and_swap"}  # atomics that may store nothing
OF_THREADS = {"threadIdx", "grid"}
OF_THE_GRID = {"gridDim", "gridsize"}


def asks_for_ends(functions: Sequence[ast.FunctionDef]) -> bool:
    """Whether one of them compares where a block ends, under whatever name, and no thread."""
    return any(
        "blockDim" in names and names.isdisjoint(OF_THREADS | OF_THE_GRID)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        for names in [made_of(node, function)]
    )


def adds_one_to_a_thread(functions: Sequence[ast.FunctionDef]) -> int:
    """The line in which the number of a thread gets 1 more, in no loop; 0 if there is none."""
    for function in functions:
        for node in assignments_in(function):
            number = one_more_than(node)
            if number is not None and made_of(number, function) & OF_THREADS:
                return node.lineno
    return 0


def stores_at_a_block(functions: Sequence[ast.FunctionDef]) -> int:
    """The line of a block's number, alone, that is the first index of what is stored; 0: none."""
    for function in functions:
        firsts = [
            node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            for node in ast.walk(function)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        ]
        for index in firsts:
            given = [
                one.value
                for one in assignments_in(function)
                if isinstance(index, ast.Name) and index.id in stored_names(one)
            ]
            number = given[0] if len(given) == 1 else index
            if is_number_of_a_block(number):
                return number.lineno
    return 0


def is_number_of_a_block(node: ast.expr) -> bool:
    """Whether it is cuda.blockIdx.x, or .y, and nothing else; a whole number is made of it, too."""
    while isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Attribute) and "blockIdx" in names_in(node.value)


def swaps_once(functions: Sequence[ast.FunctionDef]) -> int:
    """The line of a compare-and-swap of which nobody looks at what it returns; 0 if there is none.

    Not one of two fixed numbers, as locks have.
    """
    for function in functions:
        read = {
            part.id
            for part in ast.walk(function)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        for node in ast.walk(function):
            if not isinstance(node, (ast.Expr, ast.Assign)) or not isinstance(node.value, ast.Call):
                continue
            call = node.value
            fixed = all(isinstance(part, ast.Constant) for part in call.args[-2:])
            if fixed or names_in(call.func).isdisjoint(SWAPS):
                continue
            if isinstance(node, ast.Expr) or stored_names(node).isdisjoint(read):
                return node.lineno
    return 0


def exchanges_later(functions: Sequence[ast.FunctionDef]) -> int:
    """The line of an exchange whose new value is made of the old one; 0 if there is none.

    The old one was asked for in a step of its own: `exch(a, k, add(a, k, 0) + 1)`. Not in a
    function that has a compare-and-swap: a lock makes it right.
    """
    for function in functions:
        if names_in(function) & SWAPS:
            continue
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or len(call.args) != 3:
                continue
            array, index, value = call.args
            if not ast.unparse(call.func).endswith("atomic.exch"):
                continue
            given = [value, *(one.value for one in named_in(value, function))]
            if any(asks_for(array, index, part) for one in given for part in ast.walk(one)):
                return call.lineno
    return 0


def named_in(value: ast.expr, function: ast.FunctionDef) -> list[ast.Assign]:
    """The assignments of the names in an expression."""
    names = names_in(value)
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and stored_names(node) & names
    ]


def asks_for(array: ast.expr, index: ast.expr, part: ast.AST) -> bool:
    """Whether a part of an expression is this element, or an atomic of it."""
    wanted = [ast.unparse(array), ast.unparse(index)]
    if isinstance(part, ast.Subscript):
        return [ast.unparse(part.value), ast.unparse(part.slice)] == wanted
    return isinstance(part, ast.Call) and list(map(ast.unparse, part.args[:2])) == wanted


def one_more_than(node: ast.Assign | ast.AugAssign) -> ast.expr | None:
    """What a statement adds 1 to, for a name; None if it does something else."""
    if not stored_names(node):
        return None
    if isinstance(node, ast.AugAssign):
        return node.target if isinstance(node.op, ast.Add) and is_one(node.value) else None
    value = node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    if is_one(value.right):
        return value.left
    return value.right if is_one(value.left) else None


def is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def made_of(node: ast.AST, function: ast.FunctionDef) -> set[str]:
    """All names in some code, and in what the variables there are given, and so on."""
    given = [(stored_names(one), one.value) for one in assignments_in(function)]
    parts, waiting = set[str](), [node]
    followed: list[ast.AST] = []
    while waiting:
        part = waiting.pop()
        parts |= names_in(part)
        variables = {one.id for one in ast.walk(part) if isinstance(one, ast.Name)}
        more = [value for names, value in given if names & variables and value not in followed]
        followed += more
        waiting += more
    return parts


def assignments_in(function: ast.FunctionDef) -> Iterator[ast.Assign | ast.AugAssign]:
    """Those outside of all loops."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            yield node
        elif not isinstance(node, (ast.For, ast.While)):
            waiting += ast.iter_child_nodes(node)


def stored_names(node: ast.Assign | ast.AugAssign) -> set[str]:
    """The names that a statement gives a value, not the arrays of which it stores an element."""
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
