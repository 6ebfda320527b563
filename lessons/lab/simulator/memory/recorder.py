"""What a run keeps: the traffic of each source line, events for the picture, a recording."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..events import AccessEvent
from ..frames import CallStack
from ..teams import WARP, Launch, Mask, Team
from ..traffic import (
    Traffic,
    count_atomic,
    count_branch,
    count_global,
    count_shared,
)
from .access import Access
from .arrays import Memory
from .step_recorder import StepRecorder

MAX_EVENTS = 400
MAX_UNCOUNTED = 1 << 18  # accesses of threads


class Counted(NamedTuple):
    """Accesses that are counted together."""

    traffic: int  # the id of the line's
    space: str
    kind: str
    itemsize: int


class Recorder:
    """Counts and keeps the accesses of a team in the launch's report."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.report = launch.report
        # (addresses, active threads) as (warps, 32) tables, by what has to be counted of them
        self.uncounted: dict[Counted, tuple[Traffic, list[tuple[np.ndarray, np.ndarray]]]] = {}
        self.uncounted_size = 0
        self.everybody = np.ones((team.size // WARP, WARP), bool)
        self.replay = StepRecorder(launch, team, stack)

    def record(self, access: Access, problem: str, marked: Sequence[int]) -> None:
        """problem, marked: see `AccessEvent`."""
        if self.launch.measure and access.memory.space in ("global", "shared"):
            self.count_access(access)
        if self.launch.record:
            memory = access.memory
            element = access.element % memory.instance
            self.keep(memory, access.thread, element, access.kind, access.node, problem, marked)
            self.replay.access(access, marked)

    def keep_outside(
        self, memory: Memory, threads: np.ndarray, node: ast.expr, wanted: Sequence[np.ndarray] = ()
    ) -> None:
        """Keep an event for accesses that miss an array.

        threads: (n,) int, their numbers in the launch. wanted: (n,) int per dimension, the indices.
        """
        self.launch.instruction += 1
        problem = self.report.findings[-1].message
        self.keep(memory, threads, np.full(len(threads), -1), "outside", node, problem)
        self.replay.outside(memory, threads, node, wanted)

    def note(self, kind: str, node: ast.expr | ast.stmt, mask: Mask) -> None:
        """Keep for the replay that the threads in `mask` wait or return here; see `Step.kind`.

        A barrier of the block is counted.
        """
        if self.launch.measure and kind == "barrier":
            warps = mask.reshape(-1, WARP).any(axis=1)
            self.traffic_of_line(node).barriers += int(np.count_nonzero(warps))
        if self.launch.record:
            self.replay.note(kind, node, mask)

    def count_access(self, access: Access) -> None:
        """Count an access: not at once, because many small tables take longer than a large one."""
        memory = access.memory
        traffic = self.traffic_of_line(access.node, memory.name)
        element, active = self.in_warps(access)
        within = element % memory.instance if memory.space == "shared" else element
        address = memory.address + within * memory.pitch
        kind = Counted(id(traffic), memory.space, access.kind, memory.data.itemsize)
        self.uncounted.setdefault(kind, (traffic, []))[1].append((address, active))
        self.uncounted_size += address.size
        if self.uncounted_size > MAX_UNCOUNTED:
            self.count_all()

    def count_all(self) -> None:
        """Count the accesses that were put off."""
        for (_, space, kind, itemsize), (traffic, tables) in self.uncounted.items():
            address = np.concatenate([table for table, _ in tables])
            active = np.concatenate([table for _, table in tables])
            if kind == "atomic":
                count_atomic(traffic, address, active)
            if space == "shared":
                count_shared(traffic, address, active, kind)
            else:
                count_global(traffic, address, active, itemsize, kind)
        self.uncounted.clear()
        self.uncounted_size = 0

    def in_warps(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """(elements, active threads) as (warps, 32) tables."""
        size = self.team.size
        if access.positions is None:
            return access.element.reshape(-1, WARP), self.everybody
        element, active = np.zeros(size, np.int64), np.zeros(size, bool)
        element[access.positions] = access.element
        active[access.positions] = True
        return element.reshape(-1, WARP), active.reshape(-1, WARP)

    def count_branch(self, node: ast.stmt, taken: Mask, not_taken: Mask) -> None:
        if self.launch.measure:
            traffic = self.traffic_of_line(node)
            count_branch(traffic, taken.reshape(-1, WARP), not_taken.reshape(-1, WARP))
        if self.launch.record:
            self.replay.branch(node, taken, not_taken)

    def traffic_of_line(self, node: ast.expr | ast.stmt, array: str = "") -> Traffic:
        """What is counted for a line and an array; "" for what belongs to none."""
        source = self.stack.source
        key = (source.filename, node.lineno, array)
        if key not in self.report.counted:
            self.report.counted[key] = Traffic(source.line(node.lineno))
        return self.report.counted[key]

    def keep(
        self,
        memory: Memory,
        threads: np.ndarray,
        element: np.ndarray,
        kind: str,
        node: ast.expr,
        problem: str,
        marked: Sequence[int] = (),
    ) -> None:
        """Keep an event, if there is still room or something is wrong with it."""
        if len(self.report.events) >= MAX_EVENTS and not problem:
            self.report.events_left_out += 1
            return
        self.report.events.append(
            AccessEvent(
                phase=self.launch.phase,
                order=self.launch.instruction,
                line=node.lineno,
                source=self.stack.source.line(node.lineno),
                array=memory.name,
                space=memory.space,
                kind=kind,
                shape=tuple(int(n) for n in memory.shape),
                block=threads // self.launch.padded_threads_per_block,
                thread=threads % self.launch.padded_threads_per_block,
                element=element,
                problem=problem,
                marked=tuple(marked),
            )
        )
