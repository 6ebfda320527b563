"""Which conversions to a smaller type are part of an index, where they must not lose anything.

`int32(y * width + x)` may wrap around, and a hash function wants it to. In an index it is a
mistake: the element is another one than it seems.
"""

import ast
import functools
from collections.abc import Iterator

# Behind other operators, such as %, a value is no longer meant as it is.
STAYS_AN_INDEX = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


@functools.lru_cache(maxsize=256)
def narrowings(tree: ast.FunctionDef) -> frozenset[ast.expr]:
    """Calls such as `int32(...)`, and elements that are stored to, that become part of an index."""
    assigned = assignments(tree)
    found: set[ast.expr] = set()
    names: set[str] = set()
    pending = list(indices(tree))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Tuple):
            pending += node.elts
        elif isinstance(node, ast.BinOp) and isinstance(node.op, STAYS_AN_INDEX):
            pending += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            pending.append(node.operand)
        elif isinstance(node, ast.IfExp):
            pending += [node.body, node.orelse]
        elif isinstance(node, ast.Call) and node not in found:
            found.add(node)
            pending += node.args
        elif isinstance(node, ast.Subscript):
            pending.append(node.value)
        elif isinstance(node, ast.Name) and node.id not in names:
            names.add(node.id)
            for target, value in assigned.get(node.id, []):
                if isinstance(target, ast.Subscript):
                    found.add(target)
                pending.append(value)
    return frozenset(found)


def indices(tree: ast.AST) -> Iterator[ast.expr]:
    """Everything that an array is indexed with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Call) and ".atomic." in ast.unparse(node.func):
            yield from node.args[1:2]


def assignments(tree: ast.AST) -> dict[str, list[tuple[ast.expr, ast.expr]]]:
    """name -> (target, value) of all that is assigned to it, or to an element of it."""
    found: dict[str, list[tuple[ast.expr, ast.expr]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in paired(target, node.value)]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, STAYS_AN_INDEX):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For):
            pairs = [(node.target, value) for value in steps_of_range(node.iter)]
        else:
            continue
        for target, value in pairs:
            owner = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(owner, ast.Name):
                found.setdefault(owner.id, []).append((target, value))
    return found


def steps_of_range(sequence: ast.expr) -> list[ast.expr]:
    """Of `range(first, end, step)`, what the numbers are made of: the first one and the step."""
    if not (isinstance(sequence, ast.Call) and ast.unparse(sequence.func) == "range"):
        return []
    return [*sequence.args[:1], *sequence.args[2:]] if len(sequence.args) > 1 else []


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value
