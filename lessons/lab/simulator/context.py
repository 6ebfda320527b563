"""What a team runs with: the parts that expressions, statements and functions of cuda share."""

import ast
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ..source import Source
from .frames import CallStack
from .memory.checker import MemoryChecker
from .memory.recorder import Recorder
from .reporter import Reporter
from .scheduler import Scheduler
from .stops import Stop
from .teams import Launch, Mask, Team, first_of
from .whereabouts import Whereabouts


class Context:
    """The run of one team: its parts, none of which can evaluate or execute anything."""

    def __init__(self, launch: Launch, team: Team, kernel: Source, scheduler: Scheduler) -> None:
        self.launch = launch
        self.team = team
        self.scheduler = scheduler
        self.stack = CallStack(kernel, team.present)
        self.reporter = Reporter(launch, team, self.stack)
        self.recorder = Recorder(launch, team, self.stack)
        self.memory = MemoryChecker(launch, team, self.reporter, self.recorder)
        self.whereabouts = Whereabouts(team, self.stack)
        self.barriers = Barriers(self)


class Barriers:
    """Lets a team wait for others, or says which of its threads would wait for ever."""

    def __init__(self, context: "Context") -> None:
        self.launch = context.launch
        self.team = context.team
        self.reporter = context.reporter
        self.recorder = context.recorder
        self.whereabouts = context.whereabouts
        self.scheduler = context.scheduler
        self.rounds: dict[ast.Call, int] = {}  # how often each barrier was reached

    def meet_in_block(self, node: ast.Call, mask: Mask) -> None:
        """The threads in `mask` wait for all of their blocks. Raises `Stop` if some never come."""
        self.recorder.note("barrier", node, mask)
        if mask is not self.team.present:
            touched = np.zeros(self.launch.blocks, bool)
            touched[self.team.block_number[mask]] = True
            missing = self.team.present & ~mask & touched[self.team.block_number]
            if missing.any():
                block = self.team.block_number[first_of(missing)]
                waiting = first_of(mask & (self.team.block_number == block))
                rule = "every thread of a block must reach each barrier"
                self.report_missing("barrier", node, waiting, missing, "barrier", rule)
        self.scheduler.wait_for_block(self.team, mask, node.lineno)
        for memory in self.launch.shared.values():
            if memory.history is not None:
                memory.history.forget_ordered_reads(self.launch.happens_before)

    def meet_in_grid(self, node: ast.Call, mask: Mask) -> None:
        """The threads in `mask` wait for the whole grid. Raises `Stop` if some never come."""
        self.recorder.note("grid barrier", node, mask)
        missing = self.team.present & ~mask
        if missing.any():
            rule = "all threads of the grid must reach it"
            what = "grid-wide barrier"
            self.report_missing("deadlock", node, first_of(mask), missing, what, rule)
        self.scheduler.wait_for_grid(self.team, node.lineno)

    def meet_in_warp(self, node: ast.Call, lanes: Sequence[int], values: tuple) -> dict[int, tuple]:
        """For a team of one thread: wait for lanes of its warp. Returns the values of each."""
        return self.scheduler.meet_in_warp(self.team, node, lanes, values)

    def votes_in_block(self, node: ast.Call, condition: Mask, mask: Mask) -> np.ndarray:
        """Meet, and count the threads of each block for which a condition holds.

        Returns an int32 vector: the count of each thread's block.
        """
        self.rounds[node] = self.rounds.get(node, 0) + 1
        key = node, self.rounds[node]
        votes = self.launch.votes.setdefault(key, np.zeros(self.launch.blocks, np.int32))
        np.add.at(votes, self.team.block_number[condition & mask], 1)
        self.meet_in_block(node, mask)
        return votes[self.team.block_number]

    def report_missing(
        self, kind: str, node: ast.Call, waiting: int, missing: Mask, what: str, rule: str
    ) -> NoReturn:
        """A finding of a barrier at which a thread waits for those that never come."""
        position, name = first_of(missing), self.reporter.name_position
        self.reporter.add(
            kind,
            node,
            f"{name(waiting)} waits at this {what} for {name(position)}, which "
            f"{self.whereabouts.explain_absence(position)}; {rule}: "
            f"{self.whereabouts.way_back(position)}",
            place=self.reporter.place_of(waiting, position),
        )
        raise Stop
