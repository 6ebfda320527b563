"""Findings of one team, in the words of the function it is in."""

import ast
import traceback

import numpy as np

from ..source import Source, file_label
from .findings import NOWHERE, Place
from .frames import CallStack
from .stops import NotSimulated, Unsupported
from .teams import Launch, Mask, Team, first_of


class Reporter:
    """Adds findings to a launch's report, and names the threads of a team in them."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.problem = ""  # the last finding about the instruction that is being checked
        self.marked: list[int] = []  # which of its accesses findings are about

    def add(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        message: str,
        key: object = None,
        advice: bool = False,
        access: int | None = None,
        place: Place = NOWHERE,
        topic: str = "",
    ) -> bool:
        """A finding at a line of the function that is running; see `report.Report.add`.

        In a function of Numba's own it is at the line that calls it.
        access: which of the accesses of the instruction that is being checked it is about.
        """
        source = self.stack.source
        if source is not self.stack.kernel:
            message = f"in {name_of(source)}: {message}"
        key = self.key_here(key)
        shown, line = self.stack.users_place(node.lineno)
        if kind == "slow" and shown is not source:  # nobody can change a function of Numba's own
            return False
        new = self.launch.report.add(kind, line, message, key, advice, place, topic, shown.filename)
        if new and access is not None:
            self.problem = message
            self.marked.append(access)
        return new

    def has(self, kind: str, node: ast.expr | ast.stmt, key: object) -> bool:
        """Whether `add` would add nothing, since the same was found before."""
        _, line = self.stack.users_place(node.lineno)
        return self.launch.report.has(kind, line, self.key_here(key))

    def key_here(self, key: object) -> object:
        source = self.stack.source
        return key if source is self.stack.kernel else (key, source.filename)

    def refuse(self, problem: Unsupported) -> None:
        """A finding about what cannot be run: it does not compile, or only the simulator fails."""
        compiles = self.launch.options.compiles
        if isinstance(problem, NotSimulated):
            end = " (it compiles)" if compiles else ""
            self.add("unsupported", problem.node, problem.message + end)
        elif compiles:
            text = ast.unparse(problem.node).splitlines()[0]
            message = f"this simulator does not know `{text}` (it compiles)"
            self.add("unsupported", problem.node, message)
        else:
            self.add("compile", problem.node, problem.message)

    def admit_failure(self, error: Exception) -> None:
        """A finding about a mistake of the simulator, at the statement that it could not run."""
        node = statement_of(error)
        text = ast.unparse(node).splitlines()[0]
        why = "not enough memory" if isinstance(error, MemoryError) else describe(error)
        self.add("unsupported", node, f"this simulator fails at `{text}`: {why}")

    def place_of(self, position: int, other: int | None = None) -> Place:
        """The place of the thread at a position of the team; other: one that it has to do with."""
        threads = self.team.threads
        return self.launch.place_of(threads[position], None if other is None else threads[other])

    def name_position(self, position: int) -> str:
        """ "thread 3 of block 1": the thread at a position of the team."""
        return self.launch.name_thread(self.team.threads[position])

    def name_all(self, mask: Mask) -> str:
        """ "thread 3 of block 1 and 7 more": the first thread of a mask that is not empty."""
        others = int(np.count_nonzero(mask)) - 1
        more = f" and {others} more" if others > 0 else ""
        return self.name_position(first_of(mask)) + more


def name_of(source: Source) -> str:
    """ "clamp (field_math.py)": a device function in a finding."""
    return f"{source.function.__name__} ({file_label(source.filename)})"


def statement_of(error: Exception) -> ast.stmt:
    """The innermost statement that was running when the simulator failed."""
    statement = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        statement = frame.f_locals.get("statement", statement)
    return statement if isinstance(statement, ast.stmt) else ast.Pass(lineno=0)


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
