"""Loads, stores and atomics of a team, with every check there is."""

from pathlib import Path

import numpy as np

from lessons.lab.numba_types import convert
from lessons.lab.simulator import traffic as count
from lessons.lab.simulator.memory import View
from lessons.lab.simulator.report import AccessEvent
from lessons.lab.simulator.teams import Unsupported

MAX_EVENTS = 400


def ATOMIC_ADD(old, new, position):
    return old + new


class Access:
    """The part of a `Lockstep` that touches memory."""

    # ------------------------------------------------------------ which lanes

    def active_lanes(self, mask):
        """Positions of the lanes in `mask`, or None if it holds every lane of the team."""
        if mask is not self.known_mask:
            positions = np.flatnonzero(mask)
            self.known_mask = mask
            self.known_active = None if len(positions) == len(mask) else positions
        return self.known_active

    def full(self, value):
        """A number as a vector with one element a lane."""
        return value if isinstance(value, np.ndarray) else np.full(self.size, value)

    # ------------------------------------------------------------ which element

    def locate(self, view, indices, mask, node):
        """(element, mask): what each lane addresses, without the lanes that miss the array."""
        element = view.offset
        for axis, (index, length, stride) in enumerate(
            zip(indices, view.shape, view.strides, strict=False)
        ):
            if index.dtype.kind not in "iu":
                raise Unsupported(
                    node,
                    f"index {axis} of {view.memory.name} is a {index.dtype}; an index must "
                    "be a whole number: write int32(...)",
                )
            index = convert(index, np.dtype(np.int64))
            # Seen as unsigned, a negative index is a huge one: one comparison checks both ends.
            outside = index.view(np.uint64) >= np.uint64(max(0, int(length)))
            if outside.any():
                wrong = mask & outside
                if wrong.any():
                    self.report_outside(view, indices, axis, wrong, node)
                    mask = mask & ~outside
                index = np.where(outside, 0, index)
            element = element + index * stride
        return element, mask

    def report_outside(self, view, indices, axis, wrong, node):
        position = int(np.flatnonzero(wrong)[0])
        place = [int(i[position] if i.ndim else i) for i in indices]
        where = ", ".join(map(str, place))
        value, length = place[axis], int(view.shape[axis])
        problem = (
            f"index {value} of axis {axis} is negative: it would count from the end"
            if value < 0
            else f"axis {axis} has only the indices 0 to {length - 1}"
            if length
            else f"axis {axis} is empty"
        )
        self.add_finding(
            "out-of-bounds",
            node,
            f"{view.memory.name}[{where}] is outside its shape {tuple(map(int, view.shape))}: "
            f"{problem}; "
            f"{self.name_position(position)}{self.and_others(wrong)}. Is a guard such as "
            "`if i >= n: return` missing, or off by one?",
            key=view.memory.name,
        )

    def name_element(self, memory, element):
        """ "tile[3, 4]": a history's element number as the kernel would index it."""
        number = int(element) % memory.instance if memory.space != "global" else int(element)
        shape = tuple(int(n) for n in memory.shape)
        if int(np.prod(shape)) != memory.instance:
            return f"{memory.name} (element {number})"
        return f"{memory.name}[{', '.join(str(int(i)) for i in np.unravel_index(number, shape))}]"

    def name_position(self, position):
        return self.launch.name_lane(self.team.lanes[position])

    def and_others(self, mask):
        others = int(np.count_nonzero(mask)) - 1
        return f" and {others} more" if others > 0 else ""

    # ------------------------------------------------------------ load, store, atomic

    def load(self, view, indices, mask, node):
        """Value of view[indices] for the lanes in `mask`; a smaller `View` if some are missing."""
        if len(indices) < len(view.shape):
            element, _ = self.locate(view, indices, mask, node)
            rest = len(indices)
            return View(view.memory, element, view.shape[rest:], view.strides[rest:])
        memory = view.memory
        element, mask = self.locate(view, indices, mask, node)
        active = self.active_lanes(mask)
        if active is not None and len(active) == 0:
            return np.zeros(self.size, memory.data.dtype)
        touched = element if active is None or np.ndim(element) == 0 else element[active]
        if memory.space != "constant":
            self.check(memory, touched, active, "read", node)
        if np.ndim(element) == 0 or active is None:
            return memory.data[element]
        result = np.zeros(self.size, memory.data.dtype)
        result[active] = memory.data[touched]
        return result

    def store(self, view, indices, value, mask, node):
        memory = view.memory
        if memory.space == "constant":
            raise Unsupported(node, f"{memory.name} is a constant array and cannot be written")
        element, mask = self.locate(view, indices, mask, node)
        active = self.active_lanes(mask)
        if active is not None and len(active) == 0:
            return
        value = convert(value, memory.data.dtype)
        touched = self.full(element)
        if active is not None:
            touched = touched[active]
            value = value[active] if np.ndim(value) else value
        self.check(memory, touched, active, "write", node, value)
        memory.data[touched] = value

    def change(self, view, indices, value, operation, mask, node):
        """Atomics: lanes in turn replace old by operation(old, value, position). Returns old."""
        memory = view.memory
        if len(indices) != len(view.shape):
            raise Unsupported(
                node,
                f"{memory.name} has {len(view.shape)} dimensions; give an index for each",
            )
        element, mask = self.locate(view, indices, mask, node)
        active = np.flatnonzero(mask)
        old = np.zeros(self.size, memory.data.dtype)
        if len(active) == 0:
            return old
        touched = self.full(element)[active]
        value = self.full(convert(value, memory.data.dtype))
        known = self.active_lanes(mask)
        self.check(memory, touched, known, "atomic", node)
        if memory.space == "shared" and memory.data.dtype.kind == "f":
            self.add_finding(
                "slow",
                node,
                "a GPU has no atomic for floats in shared memory: this becomes a loop of "
                "compare-and-swap; let each thread write its own element and sum after a barrier",
                advice=True,
            )
        if node is self.discarded and operation is ATOMIC_ADD:
            np.add.at(memory.data, touched, value[active])
            return None
        for position, place in zip(active, touched, strict=True):
            old[position] = memory.data[place]
            memory.data[place] = operation(memory.data[place], value[position], position)
        return old

    def check(self, memory, element, active, kind, node, value=None):
        """Look for races and missing initialisation, count the traffic, remember the access."""
        self.launch.instruction += 1
        if np.ndim(element) == 0:
            element = np.full(self.size if active is None else len(active), element)
        lane = self.team.lanes if active is None else self.team.lanes[active]
        if memory.initialised is not None:
            self.check_initialised(memory, element, lane, kind, node)
        if memory.history is not None:
            tick = self.launch.clock.next()
            self.launch.place_of_tick[tick] = (self.source, node.lineno)
            self.check_races(memory, element, lane, tick, kind, node, value)
        if self.launch.measure and memory.space in ("global", "shared"):
            self.count_traffic(memory, element, active, kind, node)
        if self.launch.record:
            self.remember(memory, element, lane, kind, node)

    def check_initialised(self, memory, element, lane, kind, node):
        if kind == "write":
            memory.initialised[element] = True
            return
        known = memory.initialised[element]
        if known.all():
            return
        first = int(np.flatnonzero(~known)[0])
        place = self.name_element(memory, element[first])
        advice = "is a barrier or a store missing?" if memory.space == "shared" else "set it first"
        self.add_finding(
            "uninitialised",
            node,
            f"{place} is read by {self.launch.name_lane(lane[first])}, but nobody has written it "
            f"yet; {memory.space} memory starts with garbage on a GPU: {advice}",
            key=memory.name,
        )
        memory.initialised[element] = True

    # ------------------------------------------------------------ races

    def check_races(self, memory, element, lane, tick, kind, node, value):
        history, clock = memory.history, self.launch.clock
        element = element + memory.first_in_history if memory.first_in_history else element
        for racing in history.racing_writes(clock, element, lane):
            self.report_race(memory, element, lane, racing, kind, "write", node, value)
        if kind != "atomic":
            for racing in history.racing_changes(clock, element, lane):
                self.report_race(memory, element, lane, racing, kind, "atomic", node, value)
        if kind == "read":
            history.note_read(clock, element, lane, tick)
            return
        for racing in history.racing_reads(clock, element, lane):
            self.report_race(memory, element, lane, racing, kind, "read", node, value)
        if kind == "atomic":
            history.note_change(clock, element, lane, tick)
            return
        history.note_write(element, lane, tick)
        self.check_same_instruction(memory, element, lane, node, value)

    def check_same_instruction(self, memory, element, lane, node, value):
        """Two lanes that store to one element in one instruction: only one of the values stays."""
        kept = memory.history.write_lane[element]
        lost = kept != lane
        if not lost.any() or np.ndim(value) == 0:
            return
        memory.data[element - memory.first_in_history] = value
        survivor = memory.data[element - memory.first_in_history]
        lost &= (survivor != value) & ~((survivor != survivor) & (value != value))
        if not lost.any():
            return
        first = int(np.flatnonzero(lost)[0])
        self.add_finding(
            "race",
            node,
            f"{self.name_element(memory, element[first] - memory.first_in_history)} is written by "
            f"{self.launch.name_lane(lane[first])} and by "
            f"{self.launch.name_lane(kept[first])} with different values, and only one of them "
            "stays. Give each thread an element of its own, or add with cuda.atomic.add",
            key=(memory.name, node.lineno),
        )

    def report_race(self, memory, element, lane, racing, kind, former_kind, node, value):
        mask, former_lane, former_tick = racing
        if kind == "write" and former_kind == "write":
            # Threads that store the same value ("found = 1") do not disturb each other.
            stored = memory.data[element - memory.first_in_history]
            mask = mask & ((stored != value) & ~((stored != stored) & (value != value)))
            if not mask.any():
                return
        first = int(np.flatnonzero(mask)[0])
        source, line = self.launch.place_of_tick.get(int(former_tick[first]), (self.source, 0))
        place = self.name_element(memory, element[first] - memory.first_in_history)
        verbs = {"read": "reads", "write": "writes", "atomic": "changes atomically"}
        remedy = self.remedy(lane[first], former_lane[first], kind, former_kind)
        where = f"line {line}" if source is self.source else f"line {line} of {name_of(source)}"
        self.add_finding(
            "race",
            node,
            f"{self.launch.name_lane(lane[first])} {verbs[kind]} {place}, "
            f"{self.launch.name_lane(former_lane[first])} {verbs[former_kind]} it ({where}), and "
            f"nothing puts the two in order: {remedy}",
            key=(memory.name, source.filename, line),
        )

    def remedy(self, lane, former_lane, kind, former_kind):
        if "atomic" in (kind, former_kind):
            return "an atomic protects only against other atomics; put a barrier between them"
        clock = self.launch.clock
        if clock.block_of[lane] != clock.block_of[former_lane]:
            return (
                "blocks run in any order, and cuda.syncthreads() does not reach across them; use "
                "an atomic, or one launch after the other"
            )
        if clock.warp_of[lane] == clock.warp_of[former_lane]:
            return (
                "put cuda.syncthreads() between them (cuda.syncwarp() is enough within one warp; "
                "threads of a warp are not in step by themselves)"
            )
        return "put cuda.syncthreads() between them"

    # ------------------------------------------------------------ measure and record

    def in_rows(self, element, active):
        """(elements, active) as (warps, 32) arrays."""
        if active is None:
            return element.reshape(-1, 32), np.ones((self.size // 32, 32), bool)
        full, mask = np.zeros(self.size, np.int64), np.zeros(self.size, bool)
        full[active] = element
        mask[active] = True
        return full.reshape(-1, 32), mask.reshape(-1, 32)

    def count_traffic(self, memory, element, active, kind, node):
        line = self.traffic_of(node.lineno)
        rows, active = self.in_rows(element, active)
        itemsize = memory.data.itemsize
        if kind == "atomic":
            count.count_atomic(line, rows, active)
        if memory.space == "shared":
            address = memory.address + rows % memory.instance * itemsize
            count.count_shared(line, address, active)
            return
        address = memory.address + rows * itemsize
        count.count_global(line, address, active, itemsize, kind)

    def traffic_of(self, line):
        key = (self.source.filename, line)
        table = self.launch.report.traffic
        if key not in table:
            table[key] = count.Traffic(self.source.line(line))
        return table[key]

    def remember(self, memory, element, lane, kind, node):
        report = self.launch.report
        if len(report.events) >= MAX_EVENTS:
            report.events_left_out += 1
            return
        block, thread = lane // self.launch.lanes_a_block, lane % self.launch.lanes_a_block
        within = element % memory.instance
        report.events.append(
            AccessEvent(
                self.launch.phase,
                self.launch.instruction,
                node.lineno,
                self.source.line(node.lineno),
                memory.name,
                memory.space,
                kind,
                tuple(int(n) for n in memory.shape),
                block,
                thread,
                within,
            )
        )


def name_of(source):
    return f"{source.function.__name__} ({Path(source.filename).name})"
