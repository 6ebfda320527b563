"""Who runs next: several teams take turns, one at a time.

With one team there is nothing to decide. With several, each runs in a thread of Python's own, but
only the one that holds the baton moves; it passes the baton on at a barrier, or when it has waited
in a loop for a while. The order depends on nothing but the schedule, so every run is the same.
"""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from lessons.lab.simulator.stops import Stop
from lessons.lab.simulator.teams import Launch, Mask, Team

# Teams in turns wait for each other in loops; the more there are, the fewer rounds each is given
# before it counts as waiting for ever.
MOST_PATIENCE = 40
STACK_BYTES = 1 << 20


class Scheduler(Protocol):
    """What a team asks for when it cannot go on alone."""

    teams_count: int  # how many teams share the patience for loops that wait

    def run(self, work: Callable[[Team], None]) -> None:
        """Call work(team) for every team. Re-raises the first exception."""

    def wait_for_block(self, team: Team, mask: Mask, line: int) -> None:
        """Return when all threads of the blocks of `mask` have come to a barrier."""

    def wait_for_grid(self, team: Team, line: int) -> None:
        """Return when all threads of the grid have come to a barrier."""

    def give_way(self, team: Team) -> None:
        """Let others run first."""


class Alone:
    """The scheduler of a single team: everyone it could wait for is already there."""

    teams_count = 1

    def __init__(self, launch: Launch, team: Team) -> None:
        self.launch = launch
        self.team = team

    def run(self, work: Callable[[Team], None]) -> None:
        work(self.team)

    def wait_for_block(self, team: Team, mask: Mask, line: int) -> None:
        reached = np.zeros(self.launch.blocks, bool)
        reached[team.block_number[mask]] = True
        threads = np.flatnonzero(reached[self.launch.happens_before.block_of])
        self.launch.meet_in_block(threads)

    def wait_for_grid(self, team: Team, line: int) -> None:
        self.launch.meet_in_grid()

    def give_way(self, team: Team) -> None:
        pass


class Barrier(NamedTuple):
    """Where a team waits."""

    line: int
    scope: str  # "block" or "grid"


class TakeTurns:
    """The scheduler of several teams, each of one block or less."""

    def __init__(self, launch: Launch, teams: Sequence[Team]) -> None:
        self.launch = launch
        self.teams = list(teams)
        self.teams_count = min(len(teams), MOST_PATIENCE)
        self.teams_of_block: dict[int, list[Team]] = {}
        for team in sorted(teams, key=block_of):
            self.teams_of_block.setdefault(block_of(team), []).append(team)
        self.turn = {team: threading.Semaphore(0) for team in teams}
        self.waiting: dict[Team, Barrier] = {}
        self.finished: set[Team] = set()
        self.failure: BaseException | None = None
        self.done = threading.Event()

    def run(self, work: Callable[[Team], None]) -> None:
        stack_size = threading.stack_size()
        threading.stack_size(STACK_BYTES)
        threads = [
            threading.Thread(target=self.run_team, args=(work, team), daemon=True)
            for team in self.teams
        ]
        for thread in threads:
            thread.start()
        threading.stack_size(stack_size)
        self.turn[self.teams[0]].release()
        self.done.wait()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def run_team(self, work: Callable[[Team], None], team: Team) -> None:
        self.turn[team].acquire()
        try:
            if self.failure is None:
                work(team)
        except BaseException as error:  # carried over to the thread that called run
            self.failure = self.failure or error
        self.finished.add(team)
        self.waiting.pop(team, None)
        self.pass_on(team)

    def wait_for_block(self, team: Team, mask: Mask, line: int) -> None:
        self.waiting[team] = Barrier(line, "block")
        self.give_way(team)

    def wait_for_grid(self, team: Team, line: int) -> None:
        self.waiting[team] = Barrier(line, "grid")
        self.give_way(team)

    def give_way(self, team: Team) -> None:
        self.pass_on(team)
        self.turn[team].acquire()
        if self.failure is not None:
            raise Stop

    def pass_on(self, team: Team) -> None:
        """Give the baton to the next team that can move."""
        if self.failure is None:
            self.open_barriers()
        start = self.teams.index(team)
        order = self.teams[start + 1 :] + self.teams[: start + 1]
        unfinished = [other for other in order if other not in self.finished]
        if not unfinished:
            self.done.set()
            return
        movable = [other for other in unfinished if other not in self.waiting]
        if not movable and self.failure is None:
            self.report_standstill(unfinished)
            self.failure = Stop()
        self.turn[(movable or unfinished)[0]].release()

    # ------------------------------------------------------------ barriers

    def open_barriers(self) -> None:
        """Let go the teams whose barrier everybody has reached."""
        if not self.waiting:
            return
        if self.all_wait_for_the_grid():
            self.launch.meet_in_grid()
            self.waiting.clear()
            return
        size = self.launch.padded_threads_per_block
        for block, members in self.teams_of_block.items():
            if self.all_wait_for_their_block(members):
                for member in members:
                    self.waiting.pop(member)
                self.launch.meet_in_block(np.arange(block * size, (block + 1) * size))

    def all_wait_for_the_grid(self) -> bool:
        if self.finished or len(self.waiting) < len(self.teams):
            return False
        barriers = set(self.waiting.values())
        return len(barriers) == 1 and barriers.pop().scope == "grid"

    def all_wait_for_their_block(self, members: Sequence[Team]) -> bool:
        if any(team in self.finished or team not in self.waiting for team in members):
            return False
        barriers = {self.waiting[team] for team in members}
        return len(barriers) == 1 and barriers.pop().scope == "block"

    def report_standstill(self, unfinished: Sequence[Team]) -> None:
        """Nobody can move any more: find two teams that wait for each other, and say so."""
        for team in unfinished:
            if self.waiting[team].scope == "grid":
                continue
            for other in self.teams:
                if other is team or block_of(other) != block_of(team):
                    continue
                if other in self.finished or self.waiting[other].line != self.waiting[team].line:
                    self.report_barrier(team, other)
                    return
        self.launch.report.add(
            "deadlock",
            self.waiting[unfinished[0]].line,
            "all threads wait and nobody can move: some blocks never reach this grid-wide barrier",
        )

    def report_barrier(self, team: Team, other: Team) -> None:
        """team waits at a barrier, and `other` will never come there."""
        here, there = map(self.name_first_thread, (team, other))
        message = (
            f"{here} waits at this barrier; {there} has returned "
            "and never comes: every thread of a block must reach each barrier"
        )
        if other not in self.finished:
            message = (
                f"{here} waits at this barrier, {there} at that of line "
                f"{self.waiting[other].line}: all threads of a block must meet at the same barrier"
            )
        self.launch.report.add("barrier", self.waiting[team].line, message)

    def name_first_thread(self, team: Team) -> str:
        return self.launch.name_thread(team.threads[team.present][0])


def block_of(team: Team) -> int:
    return int(team.block_number[0])
