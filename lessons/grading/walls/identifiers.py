"""Which identifiers stand in a file, and which of them it binds: by `=`, but also by `as`, `case`.

Python has many places where a name can stand. What is not known here is looked at like any other:
every text in a syntax tree that is no value of the program counts as an identifier.
"""

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

# What reads names, or says where to look; the others bind those that they hold.
BIND_NOTHING = (ast.Attribute, ast.Constant, ast.ImportFrom, ast.MatchClass, ast.keyword)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


Thing = TypeVar("Thing", bound=Hashable)


def reached(start: Iterable[Thing], following: Callable[[set[Thing]], set[Thing]]) -> set[Thing]:
    """The things that these lead to, and these themselves. following: one step further."""
    found: set[Thing] = set()
    waiting = set(start)
    while waiting:
        found |= waiting
        waiting = following(waiting) - found
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """As `ast.walk`, in less time: a file is walked a dozen times."""
    nodes = [tree]
    for node in nodes:  # which grows
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [one for one in value if isinstance(one, ast.AST)]
    return nodes


def identifiers(node: ast.AST) -> Iterator[str]:
    """The identifiers that stand in a node itself, and not in those within it."""
    if isinstance(node, ast.Constant):
        return
    for _, value in ast.iter_fields(node):
        values = value if isinstance(value, list) else [value]
        yield from (text for text in values if isinstance(text, str))


def bound_names(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Pairs of a name and the node that binds it, anywhere in the tree."""
    for node in walk(tree):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0], node
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id, node
        elif not isinstance(node, BIND_NOTHING):
            for name in identifiers(node):
                yield name, node


def is_jit(node: ast.AST) -> bool:
    """Whether it is a function that Numba compiles: its text is read as it stands."""
    decorators = getattr(node, "decorator_list", ())
    return any("jit" in name for part in decorators for inner in walk(part)
               for name in (getattr(inner, "id", ""), getattr(inner, "attr", "")))  # fmt: skip


def in_jit_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """All that stands in functions that Numba compiles."""
    for node in walk(tree):
        if isinstance(node, FUNCTIONS) and is_jit(node):
            for statement in node.body:
                yield from walk(statement)


def in_classes(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements whose names are attributes of a class."""
    for node in walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from in_this_scope(node.body)


def in_this_scope(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, and of its loops and conditions; not of functions and classes."""
    for statement in body:
        yield statement
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        for part in ast.iter_child_nodes(statement):
            inner = getattr(part, "body", None)
            if isinstance(inner, list):  # a handler of an exception, a case
                yield from in_this_scope(inner)
            elif isinstance(part, ast.stmt):
                yield from in_this_scope([part])


def in_function_bodies(tree: ast.AST) -> Iterator[ast.AST]:
    """All that runs when a function is called, and not when it is defined."""
    for node in walk(tree):
        if isinstance(node, FUNCTIONS):
            for statement in node.body:
                yield from walk(statement)
        elif isinstance(node, ast.Lambda):
            yield from walk(node.body)
