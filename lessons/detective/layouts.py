"""Arrays that lie otherwise than in the course: so a line that is right differs from ours, too.

An array of a case may have its axes in another order, be counted from its end, or begin later. A
table says so, and each index, guard and launch follows.
"""

import ast
import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from lessons.detective.disguise import expression, rename, text
from lessons.grading.worker.output import Output

MOST_BEFORE = 3  # elements with which an axis begins that nobody uses
MARK = "laid_"  # before the name of an array whose use has been changed
Functions = dict[str, ast.FunctionDef]
Argument = tuple[str, str]  # a function's name, and what an argument is called there


class Layout(NamedTuple):
    """order: of the axes as they lie. before, backwards: of each of those, where it begins."""

    order: tuple[int, ...]
    before: tuple[int, ...]
    backwards: tuple[bool, ...]

    @classmethod
    def drawn(cls, axes: int, rng: Random) -> "Layout":
        before = [rng.choice((0, rng.randint(1, MOST_BEFORE))) for _ in range(axes)]
        backwards = [rng.random() < 0.4 for _ in range(axes)]
        backwards[0] |= not any([*before, *backwards])
        return cls(tuple(rng.sample(range(axes), axes)), tuple(before), tuple(backwards))

    def size(self, name: str, axis: int) -> str:
        """An axis of the task's array, as code."""
        at = self.order.index(axis)
        return f"{name}.shape[{at}]" + (f" - {self.before[at]}" if self.before[at] else "")

    def place(self, name: str, index: Sequence[str]) -> str:
        """An element of the task's array, as code."""
        found = []
        for at, (axis, before) in enumerate(zip(self.order, self.before, strict=True)):
            one = index[axis] if index[axis] != "(0)" else ""
            last = f"{name}.shape[{at}] - {1 + before}" + (f" - {one}" if one else "")
            forwards = " + ".join(filter(None, [one, str(before) if before else ""]))
            found.append(last if self.backwards[at] else forwards or "0")
        return f"{name}[{', '.join(found)}]"

    def told(self, name: str) -> tuple[str, str]:
        """(an element as the task names it, as it lies): ("a[i, j]", "a[-1 - j, i + 2]")."""
        letters = list("ijklm"[: len(self.order)])
        lies = re.sub(r"\w+\.shape\[\d\] - ", "-", self.place(name, letters))
        return f"{name}[{', '.join(letters)}]", lies

    def index_of(self, place: Sequence[int], shape: Sequence[int]) -> tuple[int, ...] | None:
        """The index in the task of an element that lies at a place; None if it has none there."""
        found = [
            (shape[at] - 1 - place[at] if self.backwards[at] else place[at]) - self.before[at]
            for at in np.argsort(self.order)
        ]
        return None if min(found) < 0 else tuple(found)

    def stored(self, values: np.ndarray, unused: np.ndarray) -> np.ndarray:
        """The array as it lies; unused: values for what nobody uses."""
        turned = values.transpose(self.order)
        wide = [size + before for size, before in zip(turned.shape, self.before, strict=True)]
        lies = np.resize(unused, wide)
        lies[tuple(slice(before, None) for before in self.before)] = turned
        return np.ascontiguousarray(
            lies[tuple(slice(None, None, -1 if one else 1) for one in self.backwards)]
        )


def laid_out(
    arguments: Mapping[str, Any], expected: Mapping[str, Any], layouts: Mapping[str, Layout]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a launch and what outputs should hold, as they lie."""
    given, right = dict(arguments), dict(expected)
    for name, layout in layouts.items():
        one = given[name]
        held = getattr(one, "array", one)
        given[name] = lies = layout.stored(held, held)
        if isinstance(one, Output):
            begun = one.initial is not None or any(layout.before)
            given[name] = Output(lies.shape, lies.dtype, lies if begun else None)
        if name in right:
            values = np.reshape(right[name], held.shape)
            right[name] = layout.stored(values, held.astype(values.dtype))
    return given, right


# ---------------------------------------------------------------- the text


def lay(functions: Functions, launch: str, array: str, layout: Layout) -> bool:
    """Change all uses of an argument of the launch function, or none. Returns whether."""
    handed = list(handed_on(functions))
    found = {(launch, array)}
    for _ in functions:
        found |= {own for given, own in handed if given in found}
    if any(own in found and given not in found for given, own in handed):
        return False  # a function that gets other arrays, too
    changed = {}
    for name in {name for name, _ in found}:
        arrays = {array for where, array in found if where == name}
        changed[name] = Use(arrays, layout, functions).visit(copy.deepcopy(functions[name]))
        if any(isinstance(n, ast.Name) and n.id in arrays for n in ast.walk(changed[name])):
            return False  # a use that is no element and no size
        rename(changed[name], {MARK + array: array for array in arrays})
    functions.update(changed)
    return True


def handed_on(functions: Functions) -> Iterator[tuple[Argument, Argument]]:
    """(what a function hands on, what it is called in the function that gets it)."""
    for caller, function in functions.items():
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            of, given = text(call.func), call.args
            if of == "launch":
                of, given = text(given[0]), given[3:]
            own = functions[of].args.args if of in functions else []
            for one, other in zip(given, own, strict=False):
                yield (caller, text(one)), (of, other.arg)


class Use(ast.NodeTransformer):
    """Elements and sizes of arrays within a function. What is changed has a mark in its name."""

    def __init__(self, arrays: Collection[str], layout: Layout, functions: Functions) -> None:
        self.arrays, self.layout, self.called = arrays, layout, {"launch", *functions}

    def sizes(self, array: str) -> list[str]:
        return [self.layout.size(MARK + array, axis) for axis in range(len(self.layout.order))]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        array, _, shape = text(node.value).partition(".")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if array not in self.arrays or (not shape and len(parts) != len(self.layout.order)):
            return node
        if shape:
            return expression(self.sizes(array)[int(text(node.slice))])
        new = expression(self.layout.place(MARK + array, [f"({text(part)})" for part in parts]))
        assert isinstance(new, ast.Subscript)
        return ast.Subscript(new.value, new.slice, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        array, _, rest = text(node).partition(".")
        if array not in self.arrays or rest != "size":
            return self.generic_visit(node)
        return expression(" * ".join(f"({size})" for size in self.sizes(array)))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if text(node.func).startswith("cuda.atomic."):
            element = self.visit(ast.Subscript(node.args[0], node.args[1], ast.Load()))
            assert isinstance(element, ast.Subscript)
            node.args[:2] = [element.value, element.slice]
        if text(node.func) in self.called:
            for one in node.args:
                if isinstance(one, ast.Name) and one.id in self.arrays:
                    one.id = MARK + one.id
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        array, _, shape = text(node.value).partition(".")
        if array in self.arrays and shape == "shape":
            node.value = expression(f"({', '.join(self.sizes(array))},)")
        return self.generic_visit(node)
