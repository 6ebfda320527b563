"""What the expressions of a file are made of."""

import ast

from lessons.grading.exchange.computed import Node, Place, place_of


def expressions_by_place(tree: ast.Module) -> dict[Place, Node]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.AugAssign)))
    # Of two that begin and end alike, such as `(a)` and `a`, the outer one comes first.
    found: dict[Place, Node] = {}
    for node in nodes:
        found.setdefault(place_of(node), node)
    return found


def variables_in(tree: ast.Module) -> set[str]:
    """All names that functions have for their arguments, or give a value."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node): node for function in functions for node in ast.walk(function)}.values()
    given = {
        one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return given | {one.arg for one in inside if isinstance(one, ast.arg)}


def is_size(node: ast.AST) -> bool:
    """Whether an expression is the size of an array, such as `a.shape[0]`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(inner, ast.Attribute) and inner.attr in ("shape", "size")


def name_of(node: ast.Subscript) -> str | None:
    """The name of the array that an element belongs to."""
    inner: ast.AST = node
    while isinstance(inner, (ast.Subscript, ast.Attribute)):
        inner = inner.value
    return inner.id if isinstance(inner, ast.Name) else None


def array_stored_to(statement: ast.AST) -> str | None:
    """The name of the array that a statement stores an element of."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                return name_of(target)
    return None


class Origins:
    """What the expressions of a file are made of.

    unknown: places whose numbers no right file has. A constant is never one of them: it is written
    down as it is meant, and what is made of it may be wrong.
    """

    def __init__(self, tree: ast.Module, unknown: set[Place]) -> None:
        self.parents = {
            child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
        }
        self.nodes = expressions_by_place(tree)
        self.variables = variables_in(tree)
        self.unknown = {
            place
            for place in unknown
            if place in self.nodes and not self.is_constant(self.nodes[place])
        }
        stored = (array_stored_to(self.statement_of(self.nodes[place])) for place in self.unknown)
        self.spoiled = {name for name in stored if name}  # arrays that got unknown numbers

    def is_constant(self, node: ast.AST) -> bool:
        """Whether an expression is made of constants alone, such as `float32(0.5)`, `TILE + 1`."""
        functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        rest = [one for one in ast.walk(node) if id(one) not in functions]
        names = {one.id for one in rest if isinstance(one, ast.Name)}
        return names.isdisjoint(self.variables) and not any(
            isinstance(one, ast.Attribute) for one in rest
        )

    def comes_from_elsewhere(self, node: ast.AST) -> bool:
        """Whether no expression of a kernel could be mended there.

        So it is with a constant, with the size of an array, and with what is read from an array
        into which the kernel itself has stored numbers that no right file has.
        """
        if self.is_constant(node) or is_size(node):
            return True
        return isinstance(node, ast.Subscript) and name_of(node) in self.spoiled

    def places_within(self, place: Place) -> set[Place]:
        inside = ast.walk(self.nodes[place])
        return {place_of(one) for one in inside if isinstance(one, (ast.expr, ast.AugAssign))}

    def is_unknown(self, place: Place) -> bool:
        return place in self.unknown

    def is_leaf(self, place: Place) -> bool:
        return isinstance(self.nodes[place], (ast.Name, ast.Attribute))

    def is_part_of_unknown(self, place: Place) -> bool:
        """Whether something is made of it that no right file has, or it is a place to store to."""
        node = self.nodes.get(place)
        if node is None or place in self.unknown:
            return False
        parent = self.parents[node]
        while isinstance(parent, (ast.Tuple, ast.Slice)):
            parent = self.parents[parent]
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            return True
        return isinstance(parent, (ast.expr, ast.AugAssign)) and place_of(parent) in self.unknown

    def right_numbers(self, node: ast.AST) -> bool:
        """Whether all that an expression is made of has numbers of a right file."""
        inside = set(ast.walk(node)) - {node}
        function = self.function_of(node)
        names = {one.id for one in inside if isinstance(one, ast.Name)}
        for place in self.unknown:
            other = self.nodes[place]
            if other is node:
                continue
            if other in inside:
                return False
            if self.function_of(other) is function and names & self.names_given(other):
                return False
        return True

    def names_given(self, node: ast.AST) -> set[str]:
        """The names that an expression is assigned to, as a whole or in part."""
        node = self.statement_of(node)
        if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            return set()
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for one in targets for part in getattr(one, "elts", [one])]
        return {part.id for part in parts if isinstance(part, ast.Name)}

    def statement_of(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def is_stored(self, node: ast.AST) -> bool:
        """Whether an expression is all that is stored into an element of an array, or returned."""
        if isinstance(node, ast.AugAssign):
            return isinstance(node.target, ast.Subscript)
        parent = self.parents.get(node)
        if isinstance(parent, ast.Assign):
            return any(isinstance(target, ast.Subscript) for target in parent.targets)
        return isinstance(parent, ast.Return)

    def function_of(self, node: ast.AST) -> ast.AST | None:
        while node is not None and not isinstance(node, ast.FunctionDef):
            node = self.parents.get(node)  # type: ignore[assignment]
        return node
