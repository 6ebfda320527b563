"""The same function in other forms, of which one may be like the student's.

Two functions that name other parts of the same expressions have hardly a line in common. Without
the names of one, each of its lines can be put beside a line of the other. So it is with a guard,
behind which a function goes on or within which it does all.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from copy import deepcopy

# Functions that give the same for the same arguments, wherever they are called.
PLAIN_FUNCTIONS = {
    "blocks_to_cover", "blocks_for", "min", "max", "len", "float32", "int32", "int64", "uint32",
    "np.float32", "cuda.grid", "cuda.gridsize", "math.sqrt", "math.exp",
}  # fmt: skip
PLAIN_NODES = ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Tuple
Part = tuple[ast.Name, ast.expr]  # a name, and what it stands for


def guarded_as(ours: ast.FunctionDef, mine: ast.FunctionDef) -> ast.FunctionDef | None:
    """Ours, which returns early, with the `if` of mine that holds all the rest; None without."""
    last = mine.body[-1]
    if not isinstance(last, ast.If) or last.orelse:
        return None
    for place, statement in enumerate(ours.body):
        if is_guard(statement) and place + 1 < len(ours.body):
            rest = ast.If(last.test, ours.body[place + 1 :], [])
            written = deepcopy(ours)
            written.body = deepcopy([*ours.body[:place], ast.copy_location(rest, statement)])
            return ast.fix_missing_locations(written)
    return None


def is_guard(statement: ast.stmt) -> bool:
    """Whether it is an `if` that only returns."""
    if not isinstance(statement, ast.If) or statement.orelse or len(statement.body) != 1:
        return False
    only = statement.body[0]
    return isinstance(only, ast.Return) and only.value is None


def taken_apart(function: ast.FunctionDef) -> ast.FunctionDef:
    """The same with a line for each name, in place of `a, b = c, d`."""
    return ast.fix_missing_locations(OneByOne().visit(deepcopy(function)))


class OneByOne(ast.NodeTransformer):
    """Makes several assignments of one, where none uses what another sets."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.Assign]:
        parts = parts_of(node)
        names = {name.id for name, _ in parts}
        used = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        if len(parts) < 2 or names & used or not isinstance(node.value, ast.Tuple):
            return node
        return [ast.copy_location(assignment([part]), node) for part in parts]


def inlined(function: ast.FunctionDef, keep: Collection[str]) -> ast.FunctionDef:
    """The same function without plain names that are not in `keep`."""
    written = deepcopy(function)
    changing = names_that_change(written)
    times = Counter(name.id for node in written.body for name, _ in parts_of(node))
    depend_on_place = changing | {name for name, number in times.items() if number > 1}
    values: dict[str, ast.expr] = {}
    body: list[ast.stmt] = []
    for statement in written.body:
        statement = InTheirPlace(values).visit(statement)
        parts = parts_of(statement)
        left = []
        for name, value in parts:
            if name.id in keep or name.id in changing or not is_plain(value, depend_on_place):
                values.pop(name.id, None)
                left.append((name, value))
            else:
                values[name.id] = value
        if len(left) == len(parts):
            body.append(statement)
        elif left:
            body.append(ast.copy_location(assignment(left), statement))
    written.body = body or [ast.Pass()]
    return ast.fix_missing_locations(written)


class InTheirPlace(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            return deepcopy(self.values[node.id])
        return node


def parts_of(statement: ast.stmt) -> list[Part]:
    """(name, value) of all names that an assignment sets; of no other statement any."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        return [(target, value)]
    if not isinstance(target, ast.Tuple):
        return []
    names = [name for name in target.elts if isinstance(name, ast.Name)]
    if len(names) != len(target.elts):
        return []
    if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
        return list(zip(names, value.elts, strict=True))
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return [
            (name, ast.Subscript(value, ast.Constant(axis), ast.Load()))
            for axis, name in enumerate(names)
        ]
    return []


def assignment(parts: list[Part]) -> ast.Assign:
    names, values = zip(*parts, strict=True)
    if len(parts) == 1:
        return ast.Assign([names[0]], values[0])
    target = ast.Tuple(list(names), ast.Store())
    return ast.Assign([target], ast.Tuple(list(values), ast.Load()))


def names_that_change(function: ast.FunctionDef) -> set[str]:
    """Names that a loop, a condition or an addition sets: what they hold depends on the place.

    Parameters that are set as well are among them.
    """
    found = {name.id for node in function.body for name in names_set_within(node)}
    given = {argument.arg for argument in function.args.args}
    times = Counter(name.id for node in function.body for name, _ in parts_of(node))
    return found | (given & set(times))


def names_set_within(statement: ast.stmt) -> Iterator[ast.Name]:
    if isinstance(statement, ast.Assign) and parts_of(statement):
        nodes = ast.walk(statement.value)  # such as a comprehension
    else:
        nodes = ast.walk(statement)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


def is_plain(value: ast.expr, changing: Collection[str]) -> bool:
    """Whether an expression is the same wherever it stands: it reads no element of an array."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Name):
        return value.id not in changing
    if isinstance(value, ast.Attribute):
        return is_plain(value.value, changing)
    if isinstance(value, ast.Subscript):
        shape = isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
        return shape and isinstance(value.slice, ast.Constant) and is_plain(value.value, changing)
    if isinstance(value, ast.Call):
        known = ast.unparse(value.func) in PLAIN_FUNCTIONS and not value.keywords
        return known and all(is_plain(argument, changing) for argument in value.args)
    if isinstance(value, PLAIN_NODES):
        parts = [node for node in ast.iter_child_nodes(value) if isinstance(node, ast.expr)]
        return all(is_plain(part, changing) for part in parts)
    return False
