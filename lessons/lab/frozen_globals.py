"""Values from outside a kernel, as they were when it was compiled.

Numba reads a module's variables when a kernel is first launched with arguments of some types, and
never again: a variable that is changed afterwards is still the old one for the kernel.
"""

import ast
import functools
import types
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .compile_checks import nodes_in, sources_reached
from .source import MISSING, Source

Key = tuple[Callable, str]  # a function, and a name in it such as "TILE" or "settings.TILE"
Values = dict[Key, object]


class Change(NamedTuple):
    """A value from outside that is no longer what the kernel was compiled with."""

    key: Key
    source: Source
    node: ast.expr
    then: object
    now: object


# What is outside: (key, source, node, value).
Outside = tuple[Key, Source, ast.expr, object]
# kernel's function -> {types of its arguments -> what it was compiled with}
compiled_with: weakref.WeakKeyDictionary[Callable, dict[Hashable, list[Outside]]]
compiled_with = weakref.WeakKeyDictionary()


def changes_since_compiled(kernel: Source, argument_types: Hashable) -> list[Change]:
    """What has changed since the kernel was first run with arguments of these types."""
    known = compiled_with.setdefault(kernel.function, {})
    if argument_types not in known:
        known[argument_types] = list(outside(kernel))
        return []
    now = ((*found, value_of(found[1], found[2])) for found in known[argument_types])
    return [Change(*found) for found in now if is_data(found[-1]) and not same(*found[-2:])]


def outside(kernel: Source) -> Iterator[Outside]:
    """Each name in a kernel, and in what it calls, that stands for data from outside."""
    for source in sources_reached(kernel):
        code = source.function.__code__
        for name, node in names_from_outside(source.tree, code.co_varnames + code.co_cellvars):
            value = value_of(source, node)
            if is_data(value):
                yield (source.function, name), source, node, kept(value)


@functools.lru_cache(maxsize=1024)
def names_from_outside(
    tree: ast.FunctionDef, own: tuple[str, ...]
) -> list[tuple[str, ast.Name | ast.Attribute]]:
    """(text, first place) of the names, and names in modules, that are not a function's own."""
    found: dict[str, ast.Name | ast.Attribute] = {}
    for node in nodes_in(tree):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        first: ast.expr = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if isinstance(first, ast.Name) and first.id not in own:
            found.setdefault(ast.unparse(node), node)
    return list(found.items())


def value_of(source: Source, node: ast.expr) -> object:
    if isinstance(node, ast.Name):
        return source.lookup(node.id)
    if not isinstance(node, ast.Attribute):
        return MISSING
    owner = value_of(source, node.value)
    return getattr(owner, node.attr, MISSING) if isinstance(owner, types.ModuleType) else MISSING


def is_data(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(is_data, value))
    return isinstance(value, (bool, int, float, complex, np.generic, np.ndarray))


def kept(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value


def same(then: object, now: object) -> bool:
    if then is now:
        return True
    if type(then) is not type(now):
        return False
    if isinstance(then, tuple) and isinstance(now, tuple):
        return len(then) == len(now) and all(map(same, then, now))
    if isinstance(then, np.ndarray) and isinstance(now, np.ndarray):
        return then.shape == now.shape and bool((then == now).all())
    return bool(then == now)


# Of the sessions that are open: what makes an array of the lab of a `__cuda_array_interface__`.
adopters: list[Callable[[Any], Any]] = []


def device_array(value: object) -> np.ndarray | None:
    """The memory of a GPU's array, where something that stands in for a GPU keeps it on the host.

    None for all other values. A kernel that knows such an array by a name from outside works on it
    as on an argument: it is not frozen.
    """
    memory = getattr(value, "_lab_memory", None)
    if isinstance(memory, np.ndarray):
        return memory
    if not hasattr(value, "__cuda_array_interface__"):
        return None
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return adopters[-1](value)._lab_data if adopters else None
