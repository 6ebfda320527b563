"""What keeps a student's file to objects of its own, while it runs.

`plain_code` reads names; what an object is, only Python knows. So `type` says what a thing is and
makes no class, `getattr` takes fields of named tuples, and an attribute is changed, or one that is
nobody else's is read, only of what the file itself has made.
"""

import _string  # what `str.format` reads a text with
import ast
import string
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
from numba import cuda, njit
from numba.core.registry import CPUDispatcher

from kernels.plumbing.errors import InputError
from lessons.grading.walls import stand_ins
from lessons.grading.walls.allowed_names import ATTRIBUTES_LEFT_OUT, is_left_out
from lessons.grading.walls.identifiers import in_classes, is_jit, walk

OWN, ASK = "_lab_own", "_lab_ask"  # no file may use names that begin like this
OF_EVERYBODY = {"builtins", "typing", "abc", "enum", "contextlib", stand_ins.__name__}
PLAIN = {
    bool, bytearray, bytes, complex, dict, float, frozenset, int, list, range, set, slice, str,
    tuple, type(None),
}  # fmt: skip
# Classes of which some attributes reach functions, addresses, or memory beyond an array.
EXAMPLES = cuda.jit(lambda: None), njit(lambda: None)
KERNELS = type(EXAMPLES[0]), CPUDispatcher
NAMES_OF_FUNCTIONS = {"__doc__", "__name__", "__qualname__"}
GUARDED = (
    *KERNELS, np.ndarray, np.generic, np.random.RandomState, np.random.BitGenerator,
    np.random.Generator, super,
)  # fmt: skip
FORMATS = {"format", "format_map"}
ASKED = {
    *FORMATS, "base", "bit_generator", "cffi", "data", "getfield", "set_state", "setfield",
    "state",
    *(name for kernel in EXAMPLES for name in dir(kernel) if not name.startswith("_")),
} - {"configure", "forall", *ATTRIBUTES_LEFT_OUT}  # fmt: skip
# What a kernel may ask for, too: arrays have none of it there, but a tuple may have such a field.
IN_KERNELS = ASKED - FORMATS - {"py_func", "targetoptions"}


class Guards(ast.NodeTransformer):
    """The same code, which asks `OWN` or `ASK` for what only some objects may be asked.

    module_in: gives the module that an expression stands for, or None.
    """

    def __init__(self, module_in: Callable[[ast.expr], ModuleType | None]) -> None:
        self.module_in = module_in

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        theirs = [alias for alias in node.names if (node.module, alias.name) in stand_ins.NUMPY]
        others = [alias for alias in node.names if alias not in theirs]
        made: list[ast.AST] = [ast.ImportFrom(node.module, others, node.level)] if others else []
        for alias in theirs:
            target = ast.Name(alias.asname or alias.name, ast.Store())
            made.append(ast.Assign([target], ast.Name(f"_lab_{alias.name}", ast.Load())))
        return [filled(part, node) for part in made] if theirs else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not is_jit(node):
            return self.generic_visit(node)
        node.args = self.visit(node.args)
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.returns = self.visit(node.returns) if node.returns else None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        module = self.module_in(node.value)
        if module is not None:
            name = stand_ins.stand_in(module, node.attr)
            return filled(ast.Name(name, ast.Load()), node) if name else node
        self.generic_visit(node)
        loaded = isinstance(node.ctx, ast.Load)
        if loaded and node.attr in ASKED:
            parts = [node.value, ast.Constant(node.attr)]
            return filled(ast.Call(ast.Name(ASK, ast.Load()), parts, []), node)
        if not loaded or (is_left_out(node.attr) and not is_super(node.value)):
            call = ast.Call(ast.Name(OWN, ast.Load()), [node.value], [])
            node.value = cast(ast.expr, filled(call, node))
        return node


def filled(new: ast.AST, old: ast.AST) -> ast.AST:
    return ast.fix_missing_locations(ast.copy_location(new, old))


def is_super(node: ast.expr) -> bool:
    """Whether it is `super()`, which asks an object of the method's own class."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def names_in_classes(tree: ast.AST) -> Iterator[str]:
    """The attributes that classes of a file have, by what stands in them."""
    for statement in in_classes(tree):
        name = getattr(statement, "name", None)
        if name:
            yield name
        for node in walk(statement) if not name else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def own(thing: Any) -> Any:
    """The thing, if a file has made it and its class. Raises `InputError`."""
    kind = type(thing)
    if issubclass(kind, type) or kind is FunctionType:
        kind, fits = thing, stand_ins.is_of_a_file(thing)
    else:
        fits = kind is stand_ins.Logger or kind.__module__ in stand_ins.OWN
    others = {part.__module__ for part in kind.__mro__} if isinstance(kind, type) else set()
    if not fits or not others <= stand_ins.OWN | OF_EVERYBODY:
        name = kind.__name__
        raise InputError(f"changes a {name}, which is no object of this file's classes alone")
    return thing


def ask(thing: Any, name: str) -> Any:
    """An attribute with a name of `ASKED`. Raises `InputError` for what reaches too far."""
    kind = thing if isinstance(thing, type) else type(thing)
    if name in FORMATS and issubclass(kind, str):
        made = format_safely if name == "format" else format_map_safely
        return made if kind is thing else lambda *given, **named: made(thing, *given, **named)
    if issubclass(kind, GUARDED):
        raise InputError(f"uses {name} of a {kind.__name__}, which no exercise needs")
    if name in FORMATS:
        own(thing)
    return getattr(thing, name)


class PublicFields(string.Formatter):
    """As `str.format`; of attributes, `{0.name}` reads those that a file may name itself."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        for is_attribute, name in _string.formatter_field_name_split(field_name)[1]:
            if is_attribute and (is_left_out(name) or name in ASKED):
                raise InputError(f"{{{field_name}}} uses {name}, which no exercise needs")
        return super().get_field(field_name, args, kwargs)


def format_safely(text: Any, *given: object, **named: object) -> str:
    return PublicFields().vformat(str.__str__(text), given, named)


def format_map_safely(text: Any, named: Mapping[str, Any]) -> str:
    return PublicFields().vformat(str.__str__(text), (), named)


class OneArgument(type):
    """The class of `OneArgumentType`, which is called and asked as `type` is."""

    def __call__(cls, thing: object, *parts: object) -> type:
        found: Any = type(thing)
        if parts or issubclass(found, type):
            raise InputError("type(...) would make classes, which no exercise needs")
        known = found in PLAIN or issubclass(found, (np.generic, BaseException))
        return found if known or stand_ins.is_of_a_file(found) else stand_ins.shown(found)

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
        if 2 <= len(given) <= 3 and type(given[1]) is str and given[1] in NAMES_OF_FUNCTIONS:
            text = getattr(given[0], given[1], given[2] if len(given) == 3 else None)
            if text is None or type(text) is str:
                return text
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
            "getattr(stages, 'encode'), or the __name__ of a function, and nothing else"
        )


# What the guards and stand-ins are called in a file.
NAMES: dict[str, object] = {OWN: own, ASK: ask, **stand_ins.NAMES}
