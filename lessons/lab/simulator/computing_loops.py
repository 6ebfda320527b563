"""Loops that only compute: interpreted until all of it is checked, then compiled if they go on.

A loop that touches no memory has nothing that must be looked at in each of its rounds. Once every
statement of it has been interpreted, with all the checks there are, the rounds that remain can be
left to Numba. Compiling takes longer than most loops do, so only those are compiled that have kept
the interpreter busy for a while, in this run or in those before.
"""

import time
from functools import partial
from typing import Any

import numpy as np

from ..uninterrupted import uninterrupted
from .context import Context
from .frames import Loop, Variable
from .loop_compiler import AnyLoop, Kind, Plan, compile_loop, plan_of
from .loop_watch import LoopWatch
from .teams import WARP, Mask

BUSY_SECONDS = 0.5  # that are worth compiling for
FIRST_ROUND = 4
EVERY_ROUNDS = 16
CHUNK = 1024  # rounds between two looks at the budget

# (file, line) of a loop -> seconds that the interpreter has spent in it
seconds_spent: dict[tuple[str, int], float] = {}


class Progress:
    """One run of a loop of a team. rounds: so far."""

    def __init__(self, place: tuple[str, int], plan: Plan | None) -> None:
        self.place = place
        self.plan = plan
        self.rounds = 0
        self.since = time.thread_time() if plan else 0.0

    def is_due(self) -> bool:
        """Count a round. Returns whether it is time to look for a faster way."""
        if self.plan is None:
            return False
        self.rounds += 1
        if self.rounds != FIRST_ROUND and self.rounds % EVERY_ROUNDS:
            return False
        now = time.thread_time()
        seconds_spent[self.place] = seconds_spent.get(self.place, 0.0) + now - self.since
        self.since = now
        return seconds_spent[self.place] >= BUSY_SECONDS


class ComputingLoops:
    """Finishes loops of a team in compiled code."""

    def __init__(self, context: Context, watch: LoopWatch) -> None:
        self.launch = context.launch
        self.team = context.team
        self.stack = context.stack
        self.recorder = context.recorder
        self.watch = watch

    def enter(self, node: AnyLoop) -> Progress:
        plans = self.launch.plans
        if node not in plans:
            watched = self.launch.watch is not None  # it has to see every round
            plans[node] = None if watched else plan_of(node, self.stack.source)
        return Progress((self.stack.source.filename, node.lineno), plans[node])

    def finish(
        self,
        running: Mask,
        loop: Loop,
        progress: Progress,
        limits: tuple[Any, ...] = (),
    ) -> bool:
        """Do all rounds that remain for the threads `running`; False if that is not possible.

        limits: of a `for`: the next value, the end and the step, each one for all or one per
        thread. Raises `Stop` if the budget is used up.
        """
        plan = progress.plan
        if plan is None or not self.launch.seen.issuperset(plan.must_be_seen):
            return False
        kinds = self.kinds(plan, running)
        if kinds is None:
            return False
        compiled = uninterrupted(partial(compile_loop, plan, kinds))
        if compiled is None:
            return False
        self.run(plan, compiled, kinds, running, loop, progress, limits)
        return True

    def kinds(self, plan: Plan, running: Mask) -> tuple[Kind, ...] | None:
        """The variables as they are; None if one is not a number, or has no value somewhere."""
        kinds = []
        for name in (*plan.read, *plan.written):
            variable = self.stack.frame.variables.get(name)
            if variable is None or not isinstance(variable.value, (np.generic, np.ndarray)):
                return None
            if variable.defined is not None and (running & ~variable.defined).any():
                return None
            is_vector = name in plan.written or isinstance(variable.value, np.ndarray)
            kinds.append((name, variable.value.dtype, is_vector))
        return tuple(kinds)

    def run(
        self,
        plan: Plan,
        compiled: Any,
        kinds: tuple[Kind, ...],
        running: Mask,
        loop: Loop,
        progress: Progress,
        limits: tuple[Any, ...],
    ) -> None:
        positions = np.flatnonzero(running)
        values = [self.value(name, positions, is_vector) for name, _, is_vector in kinds]
        ends = [self.team.full(limit)[positions].astype(np.int64) for limit in limits]
        branches = np.zeros((len(plan.branches), 2), np.int64)
        going_on = np.arange(len(positions))
        while len(going_on):
            status, rounds = np.zeros((2, len(going_on)), np.int64)
            parts = [v[going_on] if np.ndim(v) else v for v in (*ends, *values)]
            warps = positions[going_on] // WARP
            next_rounds = partial(compiled, CHUNK, warps, status, rounds, branches, *parts)
            if compiled.signatures:
                next_rounds()
            else:  # Numba compiles at the first call
                uninterrupted(next_rounds)
            for whole, part in zip((*ends, *values), parts, strict=True):
                if np.ndim(whole):
                    whole[going_on] = part
            broken = positions[going_on[status == 2]]
            if len(broken):
                loop.broken = loop.broken.copy()
                loop.broken[broken] = True
            still_there = self.team.nobody.copy()
            still_there[positions[going_on]] = True
            progress.rounds += int(rounds.max())
            self.watch.spend_round(plan.loop, still_there, progress.rounds, int(rounds.max()))
            going_on = going_on[status == 0]
        for name, value in zip(plan.written, values[len(plan.read) :], strict=True):
            self.keep(name, positions, value)
        self.count_branches(plan, branches)

    def value(self, name: str, positions: np.ndarray, is_vector: bool) -> Any:
        value: Any = self.stack.frame.variables[name].value
        return self.team.full(value)[positions] if is_vector else value

    def keep(self, name: str, positions: np.ndarray, value: np.ndarray) -> None:
        """Give a variable its values after the loop."""
        variables = self.stack.frame.variables
        former = variables[name]
        if (
            len(positions) == len(np.flatnonzero(self.stack.frame.live))
            and (value == value[0]).all()
        ):
            variables[name] = Variable(value[0], former.defined, former.line)
            return
        before: Any = former.value
        vector = np.array(self.team.full(before))
        vector[positions] = value
        variables[name] = Variable(vector, former.defined, former.line)

    def count_branches(self, plan: Plan, branches: np.ndarray) -> None:
        if not self.launch.measure:
            return
        for node, (warps, divergent) in zip(plan.branches, branches.tolist(), strict=True):
            traffic = self.recorder.traffic_of_line(node)
            traffic.branches += warps
            traffic.divergent += divergent
