"""Notice a loop that does not end, or that waits for threads that are kept waiting themselves."""

import ast

from lessons.lab.simulator.reporter import Reporter
from lessons.lab.simulator.scheduler import Scheduler
from lessons.lab.simulator.stops import Stop, Stuck
from lessons.lab.simulator.teams import Launch, Mask, Team
from lessons.lab.simulator.whereabouts import Whereabouts

ROUNDS_BEFORE_STUCK = 200  # of a loop in which some threads wait for others
ROUNDS_BEFORE_GIVING_WAY = 4
MAX_WHILE_ROUNDS = 20_000


class LoopWatch:
    """Looks at every round of a team's `while` loops."""

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

    def begin_round(self, node: ast.While, running: Mask, rounds: int) -> None:
        """The threads `running` begin their round number `rounds`, counted from 1.

        Raises `Stuck` where smaller teams may get further, `Stop` after too many rounds.
        """
        self.launch.spend_round(node.lineno)
        if rounds % ROUNDS_BEFORE_GIVING_WAY == 0:
            self.scheduler.give_way(self.team)
        if rounds == ROUNDS_BEFORE_STUCK and self.launch.may_divide:
            still_there = self.whereabouts.exit_line == 0
            if (self.team.present & ~running & still_there).any():
                raise Stuck
        if rounds > MAX_WHILE_ROUNDS // self.scheduler.teams_count:
            self.report_endless(node, running, rounds)
            raise Stop

    def report_endless(self, node: ast.While, running: Mask, rounds: int) -> None:
        who = f"{self.reporter.name_all(running)} went round {rounds:,} times"
        condition = ast.unparse(node.test)
        if any(isinstance(part, (ast.Subscript, ast.Call)) for part in ast.walk(node.test)):
            self.reporter.add(
                "deadlock",
                node,
                f"{who} waiting for `{condition}` to change, and no other thread changes it any "
                "more",
            )
            return
        self.reporter.add("endless", node, f"{who}: nothing in this loop makes `{condition}` false")
