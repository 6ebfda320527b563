"""What keeps a student's file to objects of its own, while it runs.

`plain_code` reads names; what an object is, only Python knows. So `type` says what a thing is and
makes no class, `getattr` takes fields of named tuples, and a method looks at `self` before it
changes anything of it.
"""

import ast
from collections.abc import Callable
from types import ModuleType
from typing import cast

from kernels.plumbing.errors import InputError
from lessons.grading.walls.allowed_names import is_left_out
from lessons.grading.walls.identifiers import methods_of

GUARD = "_lab_own"  # no file may use names that begin like this
OF_EVERYBODY = ("builtins", "typing")  # modules of classes that hold nothing of the grader


def guarded(tree: ast.Module) -> ast.Module:
    """The same code; its methods call `GUARD` before they change attributes of `self`."""
    for method, own in methods_of(tree):
        if not any(is_free_use(node, own.arg) for node in ast.walk(method)):
            continue
        call = ast.Call(ast.Name(GUARD, ast.Load()), [ast.Name(own.arg, ast.Load())], [])
        guard = ast.copy_location(ast.Expr(call), method.body[0])
        after_docstring = ast.get_docstring(method) is not None
        method.body.insert(int(after_docstring), ast.fix_missing_locations(guard))
    return tree


def is_free_use(node: ast.AST, own: str) -> bool:
    """Whether it is `self.name = ...`, or a name that nothing but `self` may be asked for.

    own: what the method calls `self`.
    """
    if not isinstance(node, ast.Attribute):
        return False
    of_self = isinstance(node.value, ast.Name) and node.value.id == own
    return of_self and (not isinstance(node.ctx, ast.Load) or is_left_out(node.attr))


def guard_for(module: str) -> Callable[[object], None]:
    """What `GUARD` stands for in the file of this module's name."""

    def require_own(thing: object) -> None:
        first, *others = (kind.__module__ for kind in type(thing).__mro__)
        if first != module or not {*others} <= {module, *OF_EVERYBODY}:
            name = type(thing).__name__
            raise InputError(
                f"a method changes a {name}, which is no object of this file's classes alone"
            )

    return require_own


class OneArgument(type):
    """The class of `OneArgumentType`, which is called and asked as `type` is."""

    def __call__(cls, thing: object, *parts: object) -> type:
        found = type(thing)
        if parts or issubclass(found, type):
            raise InputError("type(...) would make classes, which no exercise needs")
        return found

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)

    def __getitem__(cls, kind: object) -> type:
        return cls


class OneArgumentType(metaclass=OneArgument):
    """What `type` is to a student's file: it tells of what class a thing is."""


class FieldOf:
    """What `getattr` is to a student's file: `getattr(stages, "encode")` is `stages.encode`.

    A name that is computed may be any name, and no text shows it. So this takes elements of a tuple
    and asks no object for anything, nor what it is: a class of the file could answer as it likes.
    It is no function, as kernels could call one.
    """

    __slots__ = ()

    def __call__(self, *given: object) -> object:
        kind = type(given[0]) if len(given) == 2 else object
        fields = getattr(kind, "_fields", None)
        if issubclass(kind, tuple) and type(fields) is tuple and type(given[1]) is str:
            elements = tuple.__iter__(cast(tuple[object, ...], given[0]))
            for field, element in zip(fields, elements, strict=False):
                if type(field) is str and field == given[1] and not is_left_out(field):
                    if not isinstance(element, ModuleType):
                        return element
        raise InputError(
            "getattr(...) takes a public field of a named tuple here, such as "
            "getattr(stages, 'encode'), and nothing else"
        )
