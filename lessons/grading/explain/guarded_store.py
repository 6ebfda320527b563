"""Whether all that a function stores into an array stands behind an `if`, or behind a `return`, a
`break` or a `continue` that some threads take: some threads store none, or not in every round.

Shared memory that nobody has written is often this: a guard stops threads that fetch for others, or
the zero is missing for places beyond an edge.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons.course.source_text import syntax_tree

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
    statements: Iterable[ast.stmt],
    array: str,
    guard: int,
    helpers: Stored = NO_HELPERS,
    returns: int = 0,
    skips: int = 0,
) -> Iterator[Store]:
    """helpers: of the file, whose calls are stores, too; see `stored_parameters`."""
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
