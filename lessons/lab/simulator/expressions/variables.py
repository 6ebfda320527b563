"""Names: variables, and what a kernel sees of the world outside."""

import ast
import enum
import functools
import types
from typing import cast

import numpy as np

from ... import names
from ...bfloat16 import BFloat16, scalar_of_ml_dtypes
from ...compile_words import refusal_of_value
from ...frozen_globals import device_array
from ...numba_types import (
    FLOAT32,
    FLOAT64,
    Condition,
    Number,
    common_dtype,
    convert,
    dtype_of_type,
    is_number,
    typed,
)
from ...source import MISSING, Source, names_given_in
from ..arguments import rebuild
from ..context import Context
from ..frames import Frame, Variable
from ..memory.arrays import ArrayView, constant_view, wrap_global_arrays
from ..stops import Stop, Unsupported
from ..teams import Mask, anybody, first_of
from ..values import Choice, EnumValue, InnerFunction, Vector, as_number, choose, enum_value

# ---------------------------------------------------------------- types that a loop changes


UNSIGNED = np.dtype(np.uint64)
Loops = tuple[ast.For | ast.While, ...]


def one_type_in_the_loop(
    source: Source, name: str, value: Number, former: Variable, node: ast.expr | ast.stmt
) -> Number:
    """`value` with the type of a variable that was an uint64 before a loop, and is signed in it.

    No whole number of 64 bits holds both, so Numba makes the variable a float64. The other way
    round it is the same.
    """
    before = former.value
    if not isinstance(before, (np.generic, np.ndarray)):
        return value
    kinds = {before.dtype, value.dtype}
    if UNSIGNED not in kinds or not any(kind.kind == "i" for kind in kinds):
        return value
    for loop in loops_around(source.tree, node.lineno):
        if former.line < loop.lineno and is_carried(loop, name, source):
            return convert(value, FLOAT64)
    return value


@functools.lru_cache(maxsize=256)
def loops_around(function: ast.FunctionDef, line: int) -> Loops:
    loops = (n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While)))
    return tuple(loop for loop in loops if loop.lineno <= line <= last_line(loop))


def is_carried(loop: ast.For | ast.While, name: str, source: Source) -> bool:
    """Whether a round reads what the round before gave the variable, or the rest reads the last."""
    uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    stores = [place(n) for n in uses if isinstance(n.ctx, ast.Store)]
    statement = next((s for s in loop.body if name in names_given_in(s)), None)
    if not stores or statement is None:
        return False
    end = (last_line(statement), statement.end_col_offset or 0)
    at_top = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign))
    if isinstance(statement, ast.AugAssign):
        return True
    read = [place(n) for n in uses if isinstance(n.ctx, ast.Load)]
    if any(one <= end or not at_top for one in read):
        return True
    return any(
        isinstance(n, ast.Name) and n.id == name and n.lineno > last_line(loop)
        for n in ast.walk(source.tree)
    )


def place(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


class Variables:
    """Looks up names, and gives variables their values."""

    def __init__(self, context: Context) -> None:
        self.stack = context.stack
        self.reporter = context.reporter
        self.frozen = context.launch.options.frozen
        self.outside: dict[tuple[object, str], object] = {}  # (function, name) -> value

    def look_up(self, node: ast.Name, mask: Mask) -> object:
        """The value of a name for the threads in `mask`."""
        frame = self.stack.frame
        variable = frame.variables.get(node.id)
        if variable is not None:
            if variable.defined is not None:
                self.check_defined(node, mask, variable.defined)
            if isinstance(variable.value, Choice):
                return self.chosen(node, variable.value, mask)
            return variable.value
        if node.id in frame.locals:
            if mask.any():
                self.check_defined(node, mask, ~mask)
                raise Stop
            return np.float32(0)
        if frame.enclosing is not None and node.id in frame.source.function.__code__.co_freevars:
            return self.look_up_outside(node, mask, frame.enclosing)
        key = frame.source.function, node.id
        if key not in self.outside:
            value = self.frozen.get(key, MISSING)
            if value is MISSING:
                value = frame.source.lookup(node.id)
            self.outside[key] = self.from_outside(node, value, node.id)
        return self.outside[key]

    def look_up_outside(self, node: ast.Name, mask: Mask, enclosing: Frame) -> object:
        """A variable of the function that defined the one that runs."""
        inner = self.stack.frame
        self.stack.frame = enclosing
        try:
            return self.look_up(node, mask)
        finally:
            self.stack.frame = inner

    def chosen(self, node: ast.Name, choice: Choice, mask: Mask) -> ArrayView:
        view = choice.of(mask)
        if view is None:
            raise Unsupported(
                node,
                f"`{node.id}` is one array in some threads and another in others, and threads wait "
                "for each other here: this simulator does not know that (it compiles)",
            )
        return view

    def check_defined(self, node: ast.Name, mask: Mask, defined: Mask) -> None:
        missing = mask & ~defined
        if anybody(missing):
            self.reporter.add(
                "uninitialised",
                node,
                f"`{node.id}` has no value in {self.reporter.name_all(missing)}: it is assigned "
                "only on another path; give it a value before the branch",
                key=node.id,
                place=self.reporter.place_of(first_of(missing)),
            )

    def from_outside(self, node: ast.expr, value: object, name: str) -> object:
        """A value from outside a function as the kernel sees it."""
        if value is MISSING:
            raise Unsupported(node, f"the name `{name}` is not defined")
        if isinstance(value, enum.Enum):
            return enum_value(value)
        if isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
            return typed(value)
        if isinstance(value, np.ndarray):
            return constant_view(name, value)
        if isinstance(value, tuple):
            return rebuild(value, [self.from_outside(node, item, name) for item in value])
        found = scalar_of_ml_dtypes(value) or names.recognise(value)
        if found is not None:
            return found
        if dtype_of_type(value) is not None and not isinstance(value, str):
            return value
        if isinstance(value, (types.ModuleType, str, bytes)) or callable(value) or value is None:
            return value
        of_gpu = device_array(value)
        if of_gpu is not None:
            return wrap_global_arrays({name: of_gpu})[name]
        raise Unsupported(node, refusal_of_value(name, value))

    def bind(self, name: str, value: object, mask: Mask, node: ast.expr | ast.stmt) -> None:
        """Give a variable a value in the threads of `mask`; the other threads keep theirs."""
        frame = self.stack.frame
        if frame.enclosing is not None and name in frame.source.function.__code__.co_freevars:
            frame = frame.enclosing  # declared nonlocal
        former = frame.variables.get(name)
        if former is not None and frame.loops and is_number(value):
            value = self.one_type(frame, name, value, former, node)
        if mask is frame.live or not anybody(frame.live & ~mask):
            frame.variables[name] = Variable(value, None, node.lineno)
        elif former is None:
            frame.variables[name] = Variable(value, mask, node.lineno)
        elif former.defined is not None and not anybody(former.defined & ~mask):
            frame.variables[name] = Variable(value, mask, former.line)
        else:
            merged = self.select(node, mask, value, former.value)
            defined = None if former.defined is None else former.defined | mask
            frame.variables[name] = Variable(merged, defined, former.line)
        if isinstance(frame.variables[name].value, Choice):
            frame.has_choices = True

    def one_type(
        self, frame: Frame, name: str, value: Number, former: Variable, node: ast.expr | ast.stmt
    ) -> Number:
        """A value with the type that Numba gives a variable in a loop."""
        result = one_type_in_the_loop(frame.source, name, value, former, node)
        if result is not value:
            kinds = [cast(Number, former.value).dtype, value.dtype]
            self.reporter.add(
                "slow",
                node,
                f"`{name}` is {kinds[0]} before the loop and {kinds[1]} in it; no whole number "
                "holds both, so Numba makes it a double (float64): write uint64(...) around what "
                "is signed, as a bare number is",
                key=name,
                topic="double",
            )
        return result

    def select(
        self, node: ast.expr | ast.stmt, condition: Condition, yes: object, no: object
    ) -> object:
        """In each thread one of two values: `yes` where the condition holds."""
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            items = [self.select(node, condition, a, b) for a, b in zip(yes, no, strict=True)]
            return rebuild(yes, items)
        if not (is_number(yes) and is_number(no)):
            return self.select_other(node, condition, yes, no)
        dtype = common_dtype([yes.dtype, no.dtype])
        if dtype == FLOAT64 and FLOAT32 in (yes.dtype, no.dtype):
            self.reporter.add(
                "slow",
                node,
                f"this is {yes.dtype} on one path and {no.dtype} on the other, so Numba "
                "makes it a double (float64); write float32(...) on both",
                key="path",
                topic="double",
            )
        return np.where(condition, convert(yes, dtype), convert(no, dtype))

    def select_other(
        self, node: ast.expr | ast.stmt, condition: Condition, yes: object, no: object
    ) -> object:
        """The same for arrays, vectors and members of an Enum."""
        if yes is no:
            return yes
        if isinstance(yes, InnerFunction) and isinstance(no, InnerFunction):
            if yes.frame is no.frame and yes.source.tree.lineno == no.source.tree.lineno:
                return yes  # one `def`, which is passed again in another round of a loop
        chosen = choose(condition, yes, no) if np.ndim(condition) else None
        if chosen is not None:
            return chosen
        if isinstance(yes, EnumValue) and isinstance(no, EnumValue) and yes.kind is no.kind:
            number = self.select(node, condition, yes.number, no.number)
            return EnumValue(yes.kind, cast(Number, number))
        if isinstance(yes, BFloat16) and isinstance(no, BFloat16):
            return BFloat16(np.where(condition, yes.number, no.number))
        if isinstance(yes, Vector) and isinstance(no, Vector) and yes.kind is no.kind:
            values = self.select(node, condition, yes.values, no.values)
            return Vector(yes.kind, cast(tuple, values))
        first, second = as_number(yes), as_number(no)
        if first is not None and second is not None:
            return self.select(node, condition, first, second)
        raise Unsupported(
            node,
            "this name stands for different kinds of things on two paths, such as an array "
            "and a number; Numba needs one type for each name",
        )
