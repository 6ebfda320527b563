"""Notice a loop that waits for other threads, and one that has used up the budget.

A loop waits if a round of it reads memory that others can write, changes none, and leaves every
variable that matters as it was: then each further round is the same, until another thread writes.
So such a team is set aside until somebody has written; if nobody can any more, it is a deadlock.
Where it reads no such memory, it is endless. All other loops may run as long as the budget lasts.
"""

import ast
import functools
from collections.abc import Iterator

import numpy as np

from .frames import CallStack, Variable
from .reporter import Reporter
from .scheduler import Scheduler, Wait
from .stops import Stop, Stuck
from .teams import Launch, Mask, Team, first_of
from .whereabouts import Whereabouts

ROUNDS_BEFORE_GIVING_WAY = 16
ROUNDS_BETWEEN_LOOKS = 256  # at a loop that changes memory, or looks at none
LONGEST_CYCLE = 32  # rounds of an endless loop that are noticed


class Waiting:
    """What one loop of a team looked like when its last round began."""

    def __init__(self, launch: Launch, team: Team) -> None:
        self.rounds = 0
        self.changes = launch.changes
        self.looks = team.looks
        self.phase = launch.phase
        self.running = 0  # threads; 0 if that round cannot be compared with
        self.state: dict[str, Variable] = {}
        self.alone = False  # whether nothing has been asked of memory or of others since


class LoopWatch:
    """Looks at every round of a team's `while` loops."""

    def __init__(
        self,
        launch: Launch,
        team: Team,
        stack: CallStack,
        reporter: Reporter,
        whereabouts: Whereabouts,
        scheduler: Scheduler,
    ) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.reporter = reporter
        self.whereabouts = whereabouts
        self.scheduler = scheduler

    def enter(self) -> Waiting:
        return Waiting(self.launch, self.team)

    def begin_round(self, node: ast.While, running: Mask, last: Waiting) -> None:
        """The threads `running` begin another round of a loop.

        Raises `Stuck` where smaller teams may get further, and `Stop` where nobody can go on, or
        the budget is used up.
        """
        last.rounds += 1
        self.spend_round(node, running, last.rounds)
        looked, changed = self.team.looks != last.looks, self.launch.changes != last.changes
        met = self.launch.phase != last.phase
        last.looks, last.changes, last.phase = (
            self.team.looks,
            self.launch.changes,
            self.launch.phase,
        )
        if looked and last.rounds % ROUNDS_BEFORE_GIVING_WAY == 0:
            self.scheduler.give_way(self.team)
        often = last.rounds % ROUNDS_BETWEEN_LOOKS <= 1
        if not looked and not changed and not met and not asks_others(node):
            self.look_for_endless(node, running, last)
            return
        last.alone = False
        often = last.rounds % ROUNDS_BETWEEN_LOOKS <= 1
        if not looked or (changed and not often):
            last.running = 0
            return
        same = self.is_same_state(node, running, last)
        self.remember(node, running, last)
        if not same:
            return
        others = self.team.present & ~running & (self.whereabouts.exit_line == 0)
        if changed:
            # It may change memory back and forth, and wait all the same, as at a semaphore.
            if others.any() and self.launch.may_divide:
                raise Stuck
        else:
            message = self.explain(node, running, last.rounds)
            place = self.reporter.place_of(first_of(running))
            wait = Wait(node.lineno, bool(others.any()), message, place)
            self.scheduler.wait_for_change(self.team, wait)

    def look_for_endless(self, node: ast.While, running: Mask, last: Waiting) -> None:
        """A loop that asks nothing of memory or of others: does it come back to where it was?"""
        since = last.rounds % ROUNDS_BETWEEN_LOOKS
        if since == 0:
            self.remember(node, running, last)
            last.alone = True
        elif since <= LONGEST_CYCLE and last.alone and self.is_same_state(node, running, last):
            again = "each round is like the one before" if since == 1 else "it goes in a circle"
            self.report_endless(node, running, last.rounds, again)
            raise Stop

    def remember(self, node: ast.While, running: Mask, last: Waiting) -> None:
        """Note how a round begins."""
        variables = self.stack.frame.variables
        last.running = int(np.count_nonzero(running))
        last.state = {n: variables[n] for n in names_that_matter(node) if n in variables}

    def is_same_state(self, node: ast.While, running: Mask, last: Waiting) -> bool:
        """Whether a round begins as the one did that is remembered."""
        variables = self.stack.frame.variables
        state = {n: variables[n] for n in names_that_matter(node) if n in variables}
        return (
            int(np.count_nonzero(running)) == last.running
            and state.keys() == last.state.keys()
            and all(is_same(last.state[n], variable, running) for n, variable in state.items())
        )

    def explain(self, node: ast.While, running: Mask, rounds: int) -> str:
        return (
            f"{self.reporter.name_all(running)} went round {rounds:,} times waiting for "
            f"`{waits_for(node)}` to change, and no other thread changes it any more"
        )

    def spend_round(
        self, node: ast.While | ast.For, running: Mask, rounds: int, count: int = 1
    ) -> None:
        """Count one round of a loop, or more. Raises `Stop` when the budget is used up."""
        launch = self.launch
        launch.rounds_left -= count
        if launch.rounds_left >= 0 and not launch.cancelled:
            return
        launch.report.budget_used_up |= launch.rounds_left < 0
        if not launch.cancelled and not launch.lost:
            why = f"the budget of {launch.budget:,} rounds of loops is used up"
            self.report_endless(node, running, rounds, why)
        raise Stop

    def report_endless(
        self, node: ast.While | ast.For, running: Mask, rounds: int, why: str
    ) -> None:
        ends = "ends it"
        if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            ends = f"makes `{ast.unparse(node.test)}` false"
        larger = ""
        if self.launch.rounds_left < 0:
            larger = " If it only takes long, try a smaller input, or a larger budget="
        self.reporter.add(
            "endless",
            node,
            f"{self.reporter.name_all(running)} went round {rounds:,} times, and {why}. "
            f"Is there anything in this loop that {ends}?{larger}",
            place=self.reporter.place_of(first_of(running)),
        )


def is_same(before: Variable, now: Variable, running: Mask) -> bool:
    """Whether a variable still has the value it had, in the threads that run."""
    old, new = before.value, now.value
    if old is new:
        return True
    if not (
        isinstance(old, (np.generic, np.ndarray)) and isinstance(new, (np.generic, np.ndarray))
    ):
        return False
    return bool((~running | (old == new)).all())


def waits_for(node: ast.While) -> str:
    """The condition that a loop waits for: its own, or the one before its first `break`."""
    if not isinstance(node.test, ast.Constant):
        return ast.unparse(node.test)
    for part in ast.walk(node):
        if isinstance(part, ast.If) and any(isinstance(s, ast.Break) for s in part.body):
            return ast.unparse(part.test)
    return ast.unparse(node.test)


# ---------------------------------------------------------------- which variables matter


@functools.lru_cache(maxsize=1024)
def names_that_matter(loop: ast.While) -> frozenset[str]:
    """Variables that decide what a round of a loop does; a mere counter of rounds is none."""
    needs: dict[str, set[str]] = {}  # name -> names that its value is made of
    matter: set[str] = set()
    for part in ast.walk(loop):
        if isinstance(part, ast.Assign) and all(isinstance(t, ast.Name) for t in part.targets):
            for target in part.targets:
                needs.setdefault(ast.unparse(target), set()).update(names_in(part.value))
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            needs.setdefault(part.target.id, set()).update(names_in(part.value))
        elif isinstance(part, (ast.While, ast.If, ast.IfExp)):
            matter.update(names_in(part.test))
        elif isinstance(part, ast.For):
            matter.update(names_in(part.iter))
        elif isinstance(
            part, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Subscript, ast.Return)
        ):
            matter.update(names_in(part))
        elif isinstance(part, ast.Call) and not is_nap(part):
            matter.update(names_in(part))
    pending = list(matter)
    while pending:
        for name in needs.get(pending.pop(), set()) - matter:
            matter.add(name)
            pending.append(name)
    return frozenset(matter)


def names_in(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


@functools.lru_cache(maxsize=1024)
def asks_others(loop: ast.While) -> bool:
    """Whether a loop waits for other threads, or gets values from them, without memory."""
    names = (part.attr for part in ast.walk(loop) if isinstance(part, ast.Attribute))
    return any("sync" in name or name == "activemask" for name in names)


def is_nap(call: ast.Call) -> bool:
    """Whether a call only takes time."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "nanosleep"
