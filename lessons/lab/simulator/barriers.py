"""Where the threads of a block or of the grid meet."""

import ast

import numpy as np

from lessons.lab.simulator.reporter import Reporter
from lessons.lab.simulator.scheduler import Scheduler
from lessons.lab.simulator.stops import Stop
from lessons.lab.simulator.teams import Launch, Mask, Team, first_of
from lessons.lab.simulator.whereabouts import Whereabouts


class Barriers:
    """Lets a team wait for others, or says which of its threads would wait for ever."""

    def __init__(
        self,
        launch: Launch,
        team: Team,
        reporter: Reporter,
        whereabouts: Whereabouts,
        scheduler: Scheduler,
    ) -> None:
        self.launch = launch
        self.team = team
        self.reporter = reporter
        self.whereabouts = whereabouts
        self.scheduler = scheduler
        self.rounds: dict[ast.Call, int] = {}  # how often each barrier was reached

    def meet_in_block(self, node: ast.Call, mask: Mask) -> None:
        """The threads in `mask` wait for all of their blocks. Raises `Stop` if some never come."""
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
        missing = self.team.present & ~mask
        if missing.any():
            self.report_missing_in_grid(node, mask, missing)
            raise Stop
        self.scheduler.wait_for_grid(self.team, node.lineno)

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
            "each barrier: move it out of the branch, or keep the threads with no work until the "
            "end",
        )

    def report_missing_in_grid(self, node: ast.Call, mask: Mask, missing: Mask) -> None:
        position = first_of(missing)
        name = self.reporter.name_position
        self.reporter.add(
            "deadlock",
            node,
            f"{name(first_of(mask))} waits at this grid-wide barrier for {name(position)}, which "
            f"{self.whereabouts.explain_absence(position)}",
        )
