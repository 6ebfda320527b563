"""Findings of one team, in the words of the function it is in."""

import ast

import numpy as np

from lessons.lab.cells import file_label
from lessons.lab.simulator.frames import CallStack
from lessons.lab.simulator.teams import Launch, Mask, Team, first_of
from lessons.lab.source import Source


class Reporter:
    """Adds findings to a launch's report, and names the threads of a team in them."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack

    def add(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        message: str,
        key: object = None,
        advice: bool = False,
    ) -> None:
        """A finding at a place of the function that is running; see `report.Report.add`."""
        source = self.stack.source
        if source is not self.stack.kernel:
            message = f"in {name_of(source)}: {message}"
            key = (key, source.filename)
        self.launch.report.add(kind, node.lineno, message, key, advice)

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
