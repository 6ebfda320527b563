"""Who runs next: several teams take turns, one at a time.

With one team there is nothing to decide. With several, each runs in a thread of Python's own, but
only the one that holds the baton moves; it passes the baton on at a barrier, or when it has waited
in a loop for a while. The order depends on nothing but the schedule, so every run is the same.
"""

import ast
import itertools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from .findings import Place
from .stops import Stop, Stuck
from .teams import WARP, Launch, Mask, Team

MAX_TEAMS = 4096  # of one thread each
STACK_BYTES = 1 << 20


class Wait(NamedTuple):
    """A team waits in a loop until some memory changes.

    others_wait: whether some of its threads are elsewhere, and kept waiting by lock step alone.
    kind, message, place: of the finding, should nobody change that memory. state: what the team
    and memory are like, if it stores: two that are equal go on alike.
    """

    line: int
    others_wait: bool
    kind: str
    message: str
    place: Place
    state: Hashable


def report_deadlock(launch: Launch, wait: Wait) -> None:
    if wait.others_wait:
        launch.report.add(
            "unsupported",
            wait.line,
            "in this loop threads wait for others of their own block, and this simulator can "
            f"follow that for at most {MAX_TEAMS:,} threads: launch fewer",
        )
        return
    launch.report.add(wait.kind, wait.line, wait.message, place=wait.place)


class Scheduler:
    """What a team asks for when it cannot go on alone.

    This one is for a single team: everyone it could wait for is already there.
    """

    def __init__(self, launch: Launch, teams: Sequence[Team]) -> None:
        self.launch = launch
        self.teams = list(teams)

    def run(self, work: Callable[[Team], None]) -> None:
        """Call work(team) for every team. Re-raises the first exception."""
        work(self.teams[0])

    def wait_for_block(self, team: Team, mask: Mask, line: int) -> None:
        """Return when all threads of the blocks of `mask` have come to a barrier."""
        reached = np.zeros(self.launch.blocks, bool)
        reached[team.block_number[mask]] = True
        threads = np.flatnonzero(reached[self.launch.happens_before.block_of])
        self.launch.meet_in_block(threads)

    def wait_for_grid(self, team: Team, line: int) -> None:
        """Return when all threads of the grid have come to a barrier."""
        self.launch.meet_in_grid()

    def meet_in_warp(
        self, team: Team, node: ast.Call, lanes: Sequence[int], values: tuple
    ) -> dict[int, tuple]:
        """Return when these lanes have come to a place: lane -> the values it came with."""
        return {lane: values for lane in lanes}

    def wait_for_change(self, team: Team, wait: Wait) -> None:
        """Return when memory has changed. Raises `Stop` or `Stuck` if it never will."""
        if wait.others_wait and self.launch.may_divide:
            raise Stuck
        report_deadlock(self.launch, wait)
        raise Stop

    def give_way(self, team: Team) -> None:
        """Let others run first."""


class Barrier(NamedTuple):
    """Where a team waits."""

    line: int
    scope: str  # "warp", "block" or "grid"


class TakeTurns(Scheduler):
    """The scheduler of several teams, each of one block or less."""

    def __init__(self, launch: Launch, teams: Sequence[Team]) -> None:
        super().__init__(launch, teams)
        self.number = {team: number for number, team in enumerate(teams)}
        self.teams_of_block: dict[int, list[Team]] = {}
        for team in sorted(teams, key=block_of):
            self.teams_of_block.setdefault(block_of(team), []).append(team)
        self.turn: dict[Team, threading.Semaphore] = {}  # of the teams that have begun
        self.threads: list[threading.Thread] = []
        self.waiting: dict[Team, Barrier] = {}
        self.waiting_in_block = dict.fromkeys(self.teams_of_block, 0)  # teams at a barrier
        # (warp, place) -> lane -> a team that waits there, and what it came with
        self.meetings: dict[tuple[int, ast.Call], dict[int, tuple[Team, tuple]]] = {}
        self.met: dict[Team, dict[int, tuple]] = {}  # what teams that have met get of each other
        self.parked: dict[Team, tuple[int, Wait]] = {}  # the launch's changes when it was parked
        self.states: dict[Team, Hashable] = {}  # of each team when it was parked last
        self.settled: set[Team] = set()  # those that were parked twice in the same state
        self.finished: set[Team] = set()
        self.failure: BaseException | None = None
        self.done = threading.Event()

    def run(self, work: Callable[[Team], None]) -> None:
        self.work = work
        self.resume(self.teams[0])
        try:
            self.done.wait()
        except BaseException as error:  # Ctrl-C: let every thread come to its end
            self.failure = error
            self.launch.cancelled = True
            self.done.wait()
        for thread in self.threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def resume(self, team: Team) -> None:
        """Give the baton to a team. One that has not begun yet gets a thread now, and not before:
        most teams can run to their end at once, so that few threads exist at a time."""
        if team in self.turn:
            self.turn[team].release()
            return
        self.turn[team] = threading.Semaphore(0)
        stack_size = threading.stack_size(STACK_BYTES)
        thread = threading.Thread(target=self.run_team, args=(team,), daemon=True)
        thread.start()
        threading.stack_size(stack_size)
        self.threads = [other for other in self.threads if other.is_alive()] + [thread]

    def run_team(self, team: Team) -> None:
        try:
            if self.failure is None:
                self.work(team)
        except BaseException as error:  # carried over to the thread that called run
            self.failure = self.failure or error
        self.finished.add(team)
        self.pass_on(team)

    def wait_for_block(self, team: Team, mask: Mask, line: int) -> None:
        block = block_of(team)
        self.waiting[team] = Barrier(line, "block")
        self.waiting_in_block[block] += 1
        self.open_block(block)
        # Also if the barrier is open now: who comes last would otherwise always go on first.
        self.give_way(team)

    def wait_for_grid(self, team: Team, line: int) -> None:
        self.waiting[team] = Barrier(line, "grid")
        self.waiting_in_block[block_of(team)] += 1
        self.open_grid()
        self.give_way(team)

    def meet_in_warp(
        self, team: Team, node: ast.Call, lanes: Sequence[int], values: tuple
    ) -> dict[int, tuple]:
        warp, lane = divmod(int(team.threads[team.present][0]), WARP)
        meeting = self.meetings.setdefault((warp, node), {})
        meeting[lane] = team, values
        self.waiting[team] = Barrier(node.lineno, "warp")
        existing = [other for other in lanes if self.has_thread(warp, other)]
        if all(other in meeting for other in existing):
            del self.meetings[warp, node]
            found = {number: came_with for number, (_, came_with) in meeting.items()}
            for member, _ in meeting.values():
                del self.waiting[member]
                self.met[member] = found
        self.give_way(team)
        return self.met.pop(team)

    def has_thread(self, warp: int, lane: int) -> bool:
        within = (warp * WARP + lane) % self.launch.padded_threads_per_block
        return within < self.launch.threads_per_block

    def wait_for_change(self, team: Team, wait: Wait) -> None:
        self.parked[team] = self.launch.changes, wait
        if wait.state is not None and self.states.get(team) == wait.state:
            self.settled.add(team)
        else:
            self.settled.clear()
        self.states[team] = wait.state
        # All go round, each back to where it was: they only overwrite what others overwrite.
        if self.settled.issuperset({*self.teams} - self.finished - self.waiting.keys()):
            self.stand_still()
        self.give_way(team)

    def give_way(self, team: Team) -> None:
        self.pass_on(team)
        self.turn[team].acquire()
        self.parked.pop(team, None)
        self.settled.discard(team)
        if self.failure is not None:
            raise Stop

    def pass_on(self, team: Team) -> None:
        """Give the baton to the next team that can move."""
        if self.failure is not None:  # those that have not begun never will
            self.finished.update(other for other in self.teams if other not in self.turn)
        if len(self.finished) == len(self.teams):
            self.done.set()
            return
        following = self.next_team(team)
        if following is None:
            self.stand_still()
            self.pass_on(team)
            return
        self.resume(following)

    def next_team(self, team: Team) -> Team | None:
        start = self.number[team] + 1
        for number in itertools.chain(range(start, len(self.teams)), range(start)):
            other = self.teams[number]
            if other not in self.finished and (self.failure is not None or self.can_move(other)):
                return other
        return None

    def can_move(self, team: Team) -> bool:
        if team in self.waiting:
            return False
        return team not in self.parked or self.parked[team][0] != self.launch.changes

    # ------------------------------------------------------------ barriers

    def open_block(self, block: int) -> None:
        """Let the teams of a block go on, if all of them have come to one barrier."""
        members = self.teams_of_block[block]
        if self.waiting_in_block[block] < len(members):
            return
        barriers = {self.waiting[member] for member in members}
        if len(barriers) > 1 or barriers.pop().scope != "block":
            return
        for member in members:
            del self.waiting[member]
        self.waiting_in_block[block] = 0
        size = self.launch.padded_threads_per_block
        self.launch.meet_in_block(np.arange(block * size, (block + 1) * size))

    def open_grid(self) -> None:
        if len(self.waiting) < len(self.teams):
            return
        barriers = set(self.waiting.values())
        if len(barriers) > 1 or barriers.pop().scope != "grid":
            return
        self.launch.meet_in_grid()
        self.waiting.clear()
        self.waiting_in_block = dict.fromkeys(self.teams_of_block, 0)

    # ------------------------------------------------------------ nobody can move

    def stand_still(self) -> None:
        """Nobody can move any more: say why, and let every team come to its end."""
        waits = [wait for _, wait in self.parked.values()]
        if self.launch.may_divide and any(wait.others_wait for wait in waits):
            self.failure = Stuck()
            return
        self.failure = Stop()
        if waits:
            report_deadlock(self.launch, waits[0])
            return
        self.report_standstill([team for team in self.teams if team not in self.finished])

    def report_standstill(self, unfinished: Sequence[Team]) -> None:
        """Nobody can move any more: find two teams that wait for each other, and say so."""
        for team in unfinished:
            if self.waiting[team].scope == "grid":
                continue
            for other in self.teams:
                if other is team or not self.waits_for(team, other):
                    continue
                if other in self.finished or self.waiting[other].line != self.waiting[team].line:
                    self.report_barrier(team, other)
                    return
        self.launch.report.add(
            "deadlock",
            self.waiting[unfinished[0]].line,
            "all threads wait and nobody can move: some blocks never reach this grid-wide barrier",
        )

    def waits_for(self, team: Team, other: Team) -> bool:
        """Whether a team that waits at a barrier of a block or warp may wait for another one."""
        if self.waiting[team].scope == "warp":
            return int(team.threads[0]) // WARP == int(other.threads[0]) // WARP
        return block_of(other) == block_of(team)

    def report_barrier(self, team: Team, other: Team) -> None:
        """team waits at a barrier, and `other` will never come there."""
        first, others_first = (each.threads[each.present][0] for each in (team, other))
        here, there = map(self.launch.name_thread, (first, others_first))
        scope = self.waiting[team].scope
        message = (
            f"{here} waits at this barrier; {there} has returned "
            f"and never comes: every thread of a {scope} must reach each barrier"
        )
        if other not in self.finished:
            message = (
                f"{here} waits at this barrier, {there} at that of line "
                f"{self.waiting[other].line}: all threads of a {scope} must meet at the same "
                "barrier"
            )
        place = self.launch.place_of(first, others_first)
        self.launch.report.add("barrier", self.waiting[team].line, message, place=place)


def block_of(team: Team) -> int:
    return int(team.block_number[0])
