"""Functions that get their meaning by `@overload`: the types of the arguments choose it."""

# These classes extend Numba's, which has no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.errors import TypingError

from ..overloads import implementation_of
from ..source import read_source
from .compiler import Part
from .program import Program
from .refusal import NativeRefusal


def overloaded(function: Callable, program: Program, writer: Callable[..., Any]) -> tuple:
    """The key of the part for such a function. writer: `rewrite.Writer`."""
    program.has_long_loops = True  # for all that is known before the types are
    key = (function, "overloaded")
    if key not in program.parts:
        program.parts[key] = OverloadedPart(function, program, writer)
    return key


class OverloadedPart(Part):
    """A function with several implementations, which are rewritten when they are known."""

    def __init__(self, function: Callable, program: Program, writer: Callable[..., Any]) -> None:
        super().__init__(function)
        self.program = program
        self.writer = writer
        self.parts: dict[Any, Part] = {}

    def get_call_template(self, args, kws):
        kinds = [types.unliteral(kind) for kind in args[1:]]  # without the thread
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        implementation = implementation_of(self.py_func, kinds, named)
        if implementation is None:
            raise TypingError(f"{self.py_func.__name__} has no implementation for {kinds}")
        code = implementation.__code__
        if code not in self.parts:
            self.parts[code] = self.part_of(implementation)
        found = self.parts[code].get_call_template(args, kws)
        self.overloads.update(self.parts[code].overloads)
        return found

    def part_of(self, implementation: Callable) -> Part:
        writer = self.writer(read_source(implementation), self.program, is_kernel=False)
        if writer.waits:
            name = self.py_func.__name__
            raise NativeRefusal(f"the native engine cannot do {name}, whose implementation waits")
        return Part(writer.compile(), counts=self.program.counts)
