"""Who runs next: several teams take turns, one at a time.

With one team there is nothing to decide. With several, each runs in a thread of its own, but only
the one that holds the baton moves; it passes the baton on at a barrier, or when it has waited in a
loop for a while. The order depends on nothing but the schedule, so every run is the same.
"""

import threading

from lessons.lab.simulator.teams import Stop

# Teams in turns wait for each other in loops; the more there are, the fewer rounds each is given
# before it counts as waiting for ever.
MOST_PATIENCE = 40


class Alone:
    """The scheduler of a single team: everyone it could wait for is already there."""

    several = False
    teams_count = 1

    def wait_for_block(self, team, line):
        pass

    def wait_for_grid(self, team, line):
        pass

    def give_way(self, team):
        pass


class TakeTurns:
    """The scheduler of several teams, each of one block."""

    several = True

    def __init__(self, launch, teams):
        self.launch = launch
        self.teams = teams
        self.teams_count = min(len(teams), MOST_PATIENCE)
        self.turn = {id(team): threading.Semaphore(0) for team in teams}
        self.waiting = {}  # id(team) -> (line, scope) of the barrier it stands at
        self.finished = set()
        self.failure = None
        self.done = threading.Event()

    def run(self, work):
        """Call work(team) for every team, in turns. Re-raises the first exception."""
        stack_size = threading.stack_size()
        threading.stack_size(1 << 20)
        threads = [
            threading.Thread(target=self.body, args=(work, t), daemon=True) for t in self.teams
        ]
        for thread in threads:
            thread.start()
        threading.stack_size(stack_size)
        self.turn[id(self.teams[0])].release()
        self.done.wait()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def body(self, work, team):
        self.turn[id(team)].acquire()
        try:
            if self.failure is None:
                work(team)
        except BaseException as error:  # carried over to the thread that called run
            self.failure = self.failure or error
        self.finished.add(id(team))
        self.waiting.pop(id(team), None)
        self.pass_on(team)

    def pass_on(self, team):
        """Hand the baton to the next team that can move."""
        if self.failure is None:
            self.open_barriers()
        start = self.teams.index(team)
        order = self.teams[start + 1 :] + self.teams[: start + 1]
        unfinished = [t for t in order if id(t) not in self.finished]
        if not unfinished:
            self.done.set()
            return
        movable = [t for t in unfinished if id(t) not in self.waiting]
        if not movable and self.failure is None:
            self.failure = self.explain_standstill(unfinished)
        self.turn[id((movable or unfinished)[0])].release()

    def pause(self, team):
        self.pass_on(team)
        self.turn[id(team)].acquire()
        if self.failure is not None:
            raise Stop

    def give_way(self, team):
        self.pause(team)

    def wait_for_block(self, team, line):
        self.waiting[id(team)] = (line, "block")
        self.pause(team)

    def wait_for_grid(self, team, line):
        self.waiting[id(team)] = (line, "grid")
        self.pause(team)

    def open_barriers(self):
        """Let go the teams whose barrier everybody has reached."""
        if not self.finished and len(self.waiting) == len(self.teams):
            if len(set(self.waiting.values())) == 1 and self.scopes() == {"grid"}:
                self.launch.clock.meet_in_grid()
                self.launch.phase += 1
                self.waiting.clear()
                return
        for block in sorted({self.block_of(team) for team in self.teams}):
            members = [t for t in self.teams if self.block_of(t) == block]
            if any(id(t) in self.finished or id(t) not in self.waiting for t in members):
                continue
            lines = {self.waiting[id(t)] for t in members}
            if len(lines) == 1 and next(iter(lines))[1] == "block":
                for member in members:
                    self.waiting.pop(id(member))
                lanes = range(
                    block * self.launch.lanes_a_block, (block + 1) * self.launch.lanes_a_block
                )
                self.launch.clock.meet_in_block(list(lanes))
                self.launch.phase += 1

    def scopes(self):
        return {scope for _, scope in self.waiting.values()}

    def block_of(self, team):
        return int(team.block_number[0])

    def explain_standstill(self, unfinished):
        """Nobody can move any more: find two teams that wait for each other, and say so."""
        report, launch = self.launch.report, self.launch
        for team in unfinished:
            line, scope = self.waiting[id(team)]
            if scope == "grid":
                continue
            for other in self.teams:
                if other is team or self.block_of(other) != self.block_of(team):
                    continue
                here = launch.name_lane(team.lanes[team.present][0])
                there = launch.name_lane(other.lanes[other.present][0])
                if id(other) in self.finished:
                    report.add(
                        "barrier",
                        line,
                        f"{here} waits at this barrier; {there} has returned "
                        "and never comes: every thread of a block must reach each barrier",
                    )
                    return Stop()
                if self.waiting[id(other)][0] != line:
                    other_line = self.waiting[id(other)][0]
                    report.add(
                        "barrier",
                        line,
                        f"{here} waits at this barrier, {there} at that of line "
                        f"{other_line}: all threads of a block must meet at the same barrier",
                    )
                    return Stop()
        line = self.waiting[id(unfinished[0])][0]
        report.add(
            "deadlock",
            line,
            "all threads wait and nobody can move: some blocks never reach this grid-wide barrier",
        )
        return Stop()
