"""What the rewriting of a kernel and of the functions it calls have in common."""

# The last classes extend Numba's, which has no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from numba.core.errors import TypingError

from ..overloads import first_implementation, templates_of
from ..source import Source, file_label, read_source
from . import atomics, bits, checks, half, warps
from . import thread as threads
from .compiler import Part, wait
from .memory import Layout
from .messages import NativeRefusal, Site

PREFIX = "_lab_"  # of names that a rewritten function gets
THREAD = f"{PREFIX}thread"


def name(text: str) -> ast.Name:
    """One of our own names."""
    return ast.Name(PREFIX + text, ast.Load())


def thread() -> ast.Name:
    return ast.Name(THREAD, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of our own functions."""
    return ast.Call(name(function), list(arguments), [])


def wait_call(code: int) -> ast.Call:
    return call("wait", ast.Constant(code))


# ---------------------------------------------------------------- the program


NAMES = {
    PREFIX + name: value
    for names in (
        threads.NAMES,
        checks.NAMES,
        atomics.NAMES,
        warps.NAMES,
        bits.NAMES,
        half.NAMES,
        {"wait": wait},
    )
    for name, value in names.items()
}


class Rewritten(NamedTuple):
    """A kernel ready to compile, and what has to be known to run it."""

    function: Any  # Part
    parts: list[Any]  # the kernel, and what it calls
    waits: set[int]
    is_short: bool  # no thread runs long: there is no loop but short ones
    layout: Layout
    sites: list[Site]


class Program:
    """What the writers of a kernel and of the functions it calls have in common."""

    def __init__(self, bounds_check: bool, debug: bool, counts: bool) -> None:
        self.bounds_check = bounds_check
        self.counts = counts  # references to arrays
        self.debug = debug  # exceptions reach the host
        self.sites: list[Site] = []
        self.layout = Layout()
        self.has_long_loops = False
        self.parts: dict[tuple, Any] = {}  # (function, bound arguments) -> Part
        self.recursive: dict[tuple, list] = {}  # of parts being rewritten: (scope, alias) of calls

    def site(self, source: Source, node: ast.expr | ast.stmt, text: str = "") -> ast.Constant:
        """The number of a new site."""
        self.sites.append(Site(file_label(source.filename), node.lineno, text))
        return ast.Constant(len(self.sites) - 1)


# ---------------------------------------------------------------- functions with @overload


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
        kinds = args[1:]  # without the thread
        implementation = first_implementation(templates_of(self.py_func), kinds, kws)
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
