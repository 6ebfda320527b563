"""Where the threads of a block or of the grid meet."""

import ast
from collections.abc import Sequence

import numpy as np

from .memory.recorder import Recorder
from .reporter import Reporter
from .scheduler import Scheduler
from .stops import Stop
from .teams import Launch, Mask, Team, first_of
from .whereabouts import Whereabouts


class Barriers:
    """Lets a team wait for others, or says which of its threads would wait for ever."""

    def __init__(
        self,
        launch: Launch,
        team: Team,
        reporter: Reporter,
        recorder: Recorder,
        whereabouts: Whereabouts,
        scheduler: Scheduler,
    ) -> None:
        self.launch = launch
        self.team = team
        self.reporter = reporter
        self.recorder = recorder
        self.whereabouts = whereabouts
        self.scheduler = scheduler
        self.rounds: dict[ast.Call, int] = {}  # how often each barrier was reached

    def meet_in_block(self, node: ast.Call, mask: Mask) -> None:
        """The threads in `mask` wait for all of their blocks. Raises `Stop` if some never come."""
        self.recorder.note("barrier", node, mask)
        if mask is not self.team.present:
            touched = np.zeros(self.launch.blocks, bool)
            touched[self.team.block_number[mask]] = True
            missing = self.team.present & ~mask & touched[self.team.block_number]
            if missing.any():
                self.report_missing_in_block(node, mask, missing)
                raise Stop
        self.scheduler.wait_for_block(self.team, mask, node.lineno)
        for memory in self.launch.shared.values():
            if memory.history is not None:
                memory.history.forget_ordered_reads(self.launch.happens_before)

    def meet_in_grid(self, node: ast.Call, mask: Mask) -> None:
        """The threads in `mask` wait for the whole grid. Raises `Stop` if some never come."""
        self.recorder.note("grid barrier", node, mask)
        missing = self.team.present & ~mask
        if missing.any():
            self.report_missing_in_grid(node, mask, missing)
            raise Stop
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

    def report_missing_in_block(self, node: ast.Call, mask: Mask, missing: Mask) -> None:
        position = first_of(missing)
        block = self.team.block_number[position]
        waiting = first_of(mask & (self.team.block_number == block))
        name = self.reporter.name_position
        self.reporter.add(
            "barrier",
            node,
            f"{name(waiting)} waits at this barrier for {name(position)}, which "
            f"{self.whereabouts.explain_absence(position)}; every thread of a block must reach "
            f"each barrier: {self.whereabouts.way_back(position)}",
            place=self.reporter.place_of(waiting, position),
        )

    def report_missing_in_grid(self, node: ast.Call, mask: Mask, missing: Mask) -> None:
        position = first_of(missing)
        name = self.reporter.name_position
        self.reporter.add(
            "deadlock",
            node,
            f"{name(first_of(mask))} waits at this grid-wide barrier for {name(position)}, which "
            f"{self.whereabouts.explain_absence(position)}; all threads of the grid must reach it: "
            f"{self.whereabouts.way_back(position)}",
            place=self.reporter.place_of(first_of(mask), position),
        )
