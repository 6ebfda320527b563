"""What a run keeps of its accesses: the traffic of each source line, and events for the picture."""

import ast

import numpy as np

from lessons.lab.simulator.events import AccessEvent
from lessons.lab.simulator.frames import CallStack
from lessons.lab.simulator.memory.access import Access
from lessons.lab.simulator.teams import WARP, Launch, Mask, Team
from lessons.lab.simulator.traffic import (
    Traffic,
    count_atomic,
    count_branch,
    count_global,
    count_shared,
)

MAX_EVENTS = 400


class Recorder:
    """Counts and keeps the accesses of a team in the launch's report."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.report = launch.report

    def record(self, access: Access) -> None:
        if self.launch.measure and access.memory.space in ("global", "shared"):
            self.count_access(access)
        if self.launch.record:
            self.keep_event(access)

    def count_access(self, access: Access) -> None:
        memory = access.memory
        traffic = self.traffic_of_line(access.node)
        element, active = self.in_warps(access)
        itemsize = memory.data.itemsize
        if access.kind == "atomic":
            count_atomic(traffic, element, active)
        if memory.space == "shared":
            address = memory.address + element % memory.instance * itemsize
            count_shared(traffic, address, active)
            return
        address = memory.address + element * itemsize
        count_global(traffic, address, active, itemsize, access.kind)

    def in_warps(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """(elements, active threads) as (warps, 32) tables."""
        size = self.team.size
        if access.positions is None:
            return access.element.reshape(-1, WARP), np.ones((size // WARP, WARP), bool)
        element, active = np.zeros(size, np.int64), np.zeros(size, bool)
        element[access.positions] = access.element
        active[access.positions] = True
        return element.reshape(-1, WARP), active.reshape(-1, WARP)

    def count_branch(self, node: ast.stmt, taken: Mask, not_taken: Mask) -> None:
        if self.launch.measure:
            traffic = self.traffic_of_line(node)
            count_branch(traffic, taken.reshape(-1, WARP), not_taken.reshape(-1, WARP))

    def traffic_of_line(self, node: ast.expr | ast.stmt) -> Traffic:
        source = self.stack.source
        key = (source.filename, node.lineno)
        if key not in self.report.traffic:
            self.report.traffic[key] = Traffic(source.line(node.lineno))
        return self.report.traffic[key]

    def keep_event(self, access: Access) -> None:
        if len(self.report.events) >= MAX_EVENTS:
            self.report.events_left_out += 1
            return
        memory, line = access.memory, access.node.lineno
        self.report.events.append(
            AccessEvent(
                phase=self.launch.phase,
                order=self.launch.instruction,
                line=line,
                source=self.stack.source.line(line),
                array=memory.name,
                space=memory.space,
                kind=access.kind,
                shape=tuple(int(n) for n in memory.shape),
                block=access.thread // self.launch.padded_threads_per_block,
                thread=access.thread % self.launch.padded_threads_per_block,
                element=access.element % memory.instance,
            )
        )
