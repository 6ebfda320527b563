"""Names in a kernel: its variables, and what it sees of the world outside."""

import ast
import types

import numpy as np

from lessons.lab import names
from lessons.lab.numba_types import (
    FLOAT32,
    FLOAT64,
    Condition,
    common_dtype,
    convert,
    dtype_of_type,
    is_number,
    typed,
)
from lessons.lab.simulator.arguments import rebuild
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.frames import Variable
from lessons.lab.simulator.memory.arrays import constant_view
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask
from lessons.lab.source import MISSING


class Variables:
    """Looks up names, and gives variables their values."""

    def __init__(self, context: Context) -> None:
        self.stack = context.stack
        self.reporter = context.reporter
        self.outside: dict[tuple[object, str], object] = {}  # (function, name) -> value

    def look_up(self, node: ast.Name, mask: Mask) -> object:
        """The value of a name for the threads in `mask`."""
        frame = self.stack.frame
        variable = frame.variables.get(node.id)
        if variable is not None:
            if variable.defined is not None:
                self.check_defined(node, mask, variable.defined)
            return variable.value
        if node.id in frame.locals:
            if mask.any():
                raise Unsupported(node, f"`{node.id}` is used before anything is assigned to it")
            return np.float32(0)
        key = frame.source.function, node.id
        if key not in self.outside:
            self.outside[key] = self.from_outside(node, frame.source.lookup(node.id), node.id)
        return self.outside[key]

    def check_defined(self, node: ast.Name, mask: Mask, defined: Mask) -> None:
        missing = mask & ~defined
        if missing.any():
            self.reporter.add(
                "uninitialised",
                node,
                f"`{node.id}` has no value in {self.reporter.name_all(missing)}: it is assigned "
                "only on another path; give it a value before the branch",
                key=node.id,
            )

    def from_outside(self, node: ast.expr, value: object, name: str) -> object:
        """A value from outside a function as the kernel sees it."""
        if value is MISSING:
            raise Unsupported(node, f"the name `{name}` is not defined")
        if isinstance(value, (bool, int, float, np.number, np.bool_)):
            return typed(value)
        if isinstance(value, np.ndarray):
            return constant_view(name, value)
        if isinstance(value, tuple):
            return rebuild(value, [self.from_outside(node, item, name) for item in value])
        found = names.recognise(value)
        if found is not None:
            return found
        if dtype_of_type(value) is not None and not isinstance(value, str):
            return value
        if isinstance(value, (types.ModuleType, str)) or callable(value) or value is None:
            return value
        raise Unsupported(
            node,
            f"`{name}` is a Python object ({type(value).__name__}); a kernel can use numbers, "
            "tuples, arrays and functions from outside: bind what you need to a module-level name, "
            f"such as TILE = {name}.tile",
        )

    def bind(self, name: str, value: object, mask: Mask, node: ast.expr) -> None:
        """Give a variable a value in the threads of `mask`; the other threads keep theirs."""
        frame = self.stack.frame
        former = frame.variables.get(name)
        if mask is frame.live or not (frame.live & ~mask).any():
            frame.variables[name] = Variable(value, None, node.lineno)
        elif former is None:
            frame.variables[name] = Variable(value, mask, node.lineno)
        else:
            merged = self.select(node, mask, value, former.value)
            defined = None if former.defined is None else former.defined | mask
            frame.variables[name] = Variable(merged, defined, former.line)

    def select(
        self, node: ast.expr | ast.stmt, condition: Condition, yes: object, no: object
    ) -> object:
        """In each thread one of two values: `yes` where the condition holds."""
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.select(node, condition, a, b) for a, b in zip(yes, no, strict=True))
        if not (is_number(yes) and is_number(no)):
            if yes is no:
                return yes
            raise Unsupported(
                node,
                "this name stands for different kinds of things on two paths, such as an array "
                "and a number; Numba needs one type for each name",
            )
        dtype = common_dtype([yes.dtype, no.dtype])
        if dtype == FLOAT64 and FLOAT32 in (yes.dtype, no.dtype):
            self.reporter.add(
                "slow",
                node,
                f"this is {yes.dtype} on one path and {no.dtype} on the other, so Numba "
                "makes it a double (float64); write float32(...) on both",
                key="path",
            )
        return np.where(condition, convert(yes, dtype), convert(no, dtype))
