"""What the writers of a kernel and of the functions it calls have in common."""

import ast
from typing import Any, NamedTuple

from ..cells import file_label
from ..source import Source
from . import atomics, bits, checks, half, warps
from . import thread as threads
from .compiler import wait
from .memory import Layout
from .messages import Site
from .syntax import PREFIX

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
