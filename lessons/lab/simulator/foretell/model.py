"""What a launch would take on a GPU: the time that each of its parts needs, and who is last.

Each part of a GPU has a *roof*: so much of one kind of work in a microsecond, and not more. The
work is what the simulator has counted. Nothing here has seen the GPU's own counters; a GPU is a
file of constants, `gpus/NAME.json`, which `benchmarks/calibrate.py` has measured.
"""

import functools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dimensions import Dim3, as_dim3, volume
from ...errors import InputError
from ..traffic import SECTOR_BYTES, WARP, Traffic
from ..work import BLOCK, WORD_BYTES
from .program import (
    DEFAULT_REGISTERS,
    FREE,
    SLOTS_PER_STATEMENT,
    Instruction,
    Program,
    program_of,
    slots_of,
    times_of,
    waits_of,
)

FOLDER = Path(__file__).parent / "gpus"
Place = tuple[str, int]  # a file and a line
Roofs = dict[str, dict[Place, float]]
NOWHERE: Place = "", 0
LINE_BYTES = 128
# Instructions that take longer than the others, by how their names begin.
KINDS = {
    "fma.rn.f32": "fma", "add.f32": "fma", "mul.f32": "fma", "shfl": "shuffle", "mma": "tensor",
    "div.rn.f32": "divide", "sqrt.rn.f32": "root", "ex2": "special", "lg2": "special",
    "rsqrt": "special", "sin": "special", "cos": "special", "rcp": "special",
    "fma.rn.f64": "double", "add.f64": "double", "mul.f64": "double",
}  # fmt: skip
WORDS = {
    "launch": "the launch itself",
    "waiting": "waiting: each warp for its own last result",
    "instructions": "instructions",
    "tensor": "tensor cores",
    "requests": "requests of global memory",
    "cache": "sectors from the second cache",
    "memory": "bytes of the GPU's memory",
    "shared": "passes of shared memory, shuffles among them",
    "atomics": "atomic operations",
    "barriers": "barriers",
    "blocks": "the start of so many blocks",
}  # fmt: skip


class Given(NamedTuple):
    """What was launched. types: of the arguments, by an explicit signature. blocks: that ran."""

    kernel: Any
    arrays: Mapping[str, np.ndarray]
    arguments: Sequence[object]
    types: tuple | None
    blocks: int


class Prediction(NamedTuple):
    """us: of the launch, with all before and after it. parts: us of each roof, and of the launch.
    bound: the roof that binds; line: where most of that work is, 0 if nowhere. warps: on a
    processor at a time, of most that fit. registers: per thread. by_compiler: whether they and the
    instructions are the compiler's, or a default."""

    gpu: str
    us: float
    parts: dict[str, float]
    bound: str
    file: str
    line: int
    warps: int
    most_warps: int
    registers: int
    by_compiler: bool

    @property
    def sentence(self) -> str:
        """ "bound by requests of global memory at line 41"."""
        return f"bound by {WORDS[self.bound]}" + f" at line {self.line}" * bool(self.line)

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {us:.3g}" for name, us in self.parts.items() if us >= 0.005)
        how = "" if self.by_compiler else "; instructions and registers are guessed"
        return (
            f"{self.us:.3g} us on {self.gpu}, foretold: {self.sentence} "
            f"({parts} us; {self.warps} of {self.most_warps} warps at a time{how})"
        )


@functools.cache
def gpu_named(name: str) -> dict[str, Any]:
    """The constants of a GPU. Raises `InputError` for one that is not known."""
    known = {path.stem.lower(): path for path in sorted(FOLDER.glob("*.json"))}
    if name.lower() not in known:
        names = ", ".join(stem.upper() for stem in known)
        raise InputError(f"no GPU {name!r} has been measured: take one of {names}")
    constants: dict[str, Any] = json.loads(known[name.lower()].read_text())
    return constants


def foretell(report: Any, name: str, grid: int | tuple[int, ...] | None = None) -> Prediction:
    """See `Report.predict`."""
    gpu, given = gpu_named(name), report.given
    if given is None or not report.work.executed:
        raise InputError(
            f"{report.name}: nothing was counted, so nothing can be foretold: run it with "
            "measure=True, until nothing is wrong with it"
        )
    whole = report.grid if grid is None else as_dim3(grid, "grid")
    program = program_of(given.kernel, given.arguments, given.types)
    return Model(report, given, gpu, program, whole).prediction()


class Model:
    """The roofs of one launch. Times are in cycles of a processor, until they are told."""

    def __init__(
        self, report: Any, given: Given, gpu: dict[str, Any], program: Program | None,
        grid: Dim3,
    ) -> None:  # fmt: skip
        self.report, self.given, self.gpu, self.program = report, given, gpu, program
        self.work, self.lines = report.work, report.traffic
        self.threads = volume(report.block)
        self.warps = -(-self.threads // WARP)
        self.blocks = volume(grid)
        self.scale = self.blocks / given.blocks
        # Blocks of the processor that has most of them, and how many it has at a time.
        self.queue = math.ceil(self.blocks / gpu["processors"])
        self.resident = min(self.queue, self.blocks_at_a_time())

    def blocks_at_a_time(self) -> int:
        """How many blocks have room on a processor: of warps, registers and shared memory."""
        gpu = self.gpu
        registers = -(-self.registers // 8) * 8 * self.warps * WARP
        shared = self.work.shared_bytes + gpu["shared_bytes_of_a_block"]
        fitting = gpu["warps"] // self.warps, gpu["registers"] // registers
        return max(1, min(gpu["blocks"], *fitting, gpu["shared_bytes"] // shared))

    @property
    def registers(self) -> int:
        return self.program.registers if self.program else DEFAULT_REGISTERS

    # ------------------------------------------------------------ roofs

    def prediction(self) -> Prediction:
        gpu = self.gpu
        cycles_per_us = gpu["clock_ghz"] * 1000
        roofs = self.roofs()
        us = {name: sum(places.values()) / cycles_per_us for name, places in roofs.items()}
        # Two roofs of one height do not overlap quite; one that is much lower costs nothing.
        together = sum(one ** gpu["overlap"] for one in us.values()) ** (1 / gpu["overlap"])
        launch = gpu["launch_us"]
        bound = max(us, key=lambda name: us[name])
        file, line = max(roofs[bound].items(), key=lambda item: item[1], default=(NOWHERE, 0))[0]
        if us[bound] < launch:
            bound, (file, line) = "launch", NOWHERE
        return Prediction(
            gpu["name"], launch + together, {"launch": launch, **us}, bound, file, line,
            self.resident * self.warps, gpu["warps"], self.registers, self.program is not None,
        )  # fmt: skip

    def roofs(self) -> Roofs:
        """Cycles that each part of the GPU needs for its work, by the places that ask for it."""
        roofs: Roofs = {name: defaultdict(float) for name in WORDS if name != "launch"}
        self.add_computing(roofs)
        self.add_memory(roofs)
        for (file, line, array), traffic in self.report.counted.items():
            self.add_line(roofs, (file, line), array, traffic)
            barriers = self.per_processor(traffic.barriers)
            roofs["barriers"][file, line] += barriers * self.gpu["cycles_per_barrier"]
        roofs["blocks"][NOWHERE] = self.blocks * self.gpu["cycles_per_block"]
        return roofs

    def per_processor(self, work: float) -> float:
        """Of what the blocks that have run did, the part of the processor with most blocks."""
        return work / self.given.blocks * self.queue

    def add_line(self, roofs: Roofs, place: Place, array: str, traffic: Traffic) -> None:
        """What one line asks of one array."""
        gpu, kind = self.gpu, "float" if array in self.work.floats else "int"
        if traffic.shared_requests:
            passes = self.per_processor(traffic.shared_passes)
            roofs["shared"][place] += passes * gpu["cycles_per_shared_pass"]
            roofs["atomics"][place] += self.per_processor(self.shared_atomics(traffic, kind))
            return
        roofs["requests"][place] += (
            self.per_processor(traffic.cache_passes) * gpu["cycles_per_pass"]
        )
        stored = traffic.stored_sectors * self.scale
        roofs["cache"][place] += stored / gpu["cache_sectors_per_cycle"]
        if traffic.atomics:
            at_sectors = traffic.atomic_sectors * gpu["cycles_per_atomic_sector"]
            at_addresses = traffic.atomic_turns * gpu["cycles_per_meeting"][kind]
            cycles = max(at_sectors, at_addresses) * self.scale
            roofs["atomics"][place] += cycles / self.units_for_atomics(array)

    def shared_atomics(self, traffic: Traffic, kind: str) -> float:
        """Cycles. Of ints, the hardware adds up what meets; of floats, each tries until it wins."""
        costs = self.gpu["cycles_per_shared_atomic"]
        if not traffic.atomics or kind == "int":
            return float(traffic.shared_requests * costs["int"] if traffic.atomics else 0)
        alone = traffic.atomic_multiplicity == 1
        return float(traffic.atomic_turns * costs["float" if alone else "meeting"])

    def units_for_atomics(self, array: str) -> float:
        """How many operations are done side by side: the fewer lines they go to, the fewer."""
        hits, keys = self.work.hits[array], self.work.keys(array, "atomic")
        words = LINE_BYTES // WORD_BYTES
        lines = np.add.reduceat(hits, np.arange(0, len(hits), words))
        first = int(lines.argmax()) * (LINE_BYTES // SECTOR_BYTES)
        blocks = np.unique(
            keys[(keys % BLOCK) // (LINE_BYTES // SECTOR_BYTES) * 4 == first] // BLOCK
        )
        alone = len(blocks) == 1 and self.given.blocks > 1  # each block has places of its own
        even = lines.sum() / lines.max() * (self.scale if alone else 1)
        return float(min(self.gpu["atomic_units"], even ** self.gpu["atomic_spread"]))

    def add_memory(self, roofs: Roofs) -> None:
        """What the caches do not keep.

        The first cache keeps what a block has read: the block asks the second once per sector.
        Stores and atomics pass through it. The second keeps everything from one launch to the next,
        if all of it has room there.
        """
        gpu = self.gpu
        for array, kind in list(self.work.touched):
            if kind == "read":
                sectors = len(self.work.keys(array, kind)) * self.scale
                roofs["cache"][self.place_of(array)] += sectors / gpu["cache_sectors_per_cycle"]
        if self.beyond_caches:
            for array, sectors in self.different.items():
                cycles = sectors * SECTOR_BYTES / gpu["memory_bytes_per_cycle"]
                roofs["memory"][self.place_of(array)] += cycles

    @functools.cached_property
    def different(self) -> dict[str, float]:
        """Different sectors of each array that the whole launch touches: at most all."""
        found: dict[str, float] = {}
        for array, kind in list(self.work.touched):
            sectors = len(np.unique(self.work.keys(array, kind) % BLOCK))
            whole = self.given.arrays.get(array)
            most = max(sectors, 0 if whole is None else whole.nbytes / SECTOR_BYTES)
            found[array] = max(found.get(array, 0), min(most, sectors * self.scale))
        return found

    @property
    def beyond_caches(self) -> bool:
        """Whether the launch touches more than the second cache keeps until the next one."""
        return sum(self.different.values()) * SECTOR_BYTES > float(self.gpu["cache_bytes"])

    def place_of(self, array: str) -> Place:
        """Where most sectors of an array are asked for."""
        found = [
            (traffic.sectors, file, line)
            for (file, line, name), traffic in self.report.counted.items()
            if name == array
        ]
        return max(found)[1:] if found else NOWHERE

    def add_computing(self, roofs: Roofs) -> None:
        """Instructions, and what a warp waits for by itself.

        As many blocks as have room wait side by side; so the longest of all is a chain of
        `queue / resident` blocks.
        """
        gpu, file = self.gpu, self.report.source.filename
        warps = self.given.blocks * self.warps
        one_by_one = math.ceil(self.queue / self.resident) / warps
        for instructions, times, waiting in self.parts(warps):
            for one in instructions:
                place = file, one.line
                slots = self.per_processor(times * slots_of(one.name))
                roofs["instructions"][place] += slots / gpu["slots"]
                asked = self.per_processor(times * one.width)
                if one.space == "local":
                    roofs["requests"][place] += asked * gpu["cycles_per_pass"]
                if one.name.startswith("mma"):
                    roofs["tensor"][place] += asked * gpu["cycles_per_tensor_product"]
                if one.name.startswith("shfl"):
                    roofs["shared"][place] += asked * gpu["cycles_per_shared_pass"]
            if instructions:
                lines = Counter(one.line for one in instructions)
                roofs["waiting"][file, lines.most_common(1)[0][0]] += waiting * times * one_by_one

    def parts(self, warps: int) -> Iterator[tuple[Sequence[Instruction], float, float]]:
        """(instructions, how often, cycles that a warp needs for them) of each stretch."""
        if self.program is not None:
            times = times_of(self.program, self.work, warps)
            waits = waits_of(self.program, self.latency)
            for stretch, often, waiting in zip(self.program.stretches, times, waits, strict=True):
                yield stretch.instructions, often, waiting
            return
        latency = self.gpu["latency"]
        for (line, _), count in self.work.executed.items():
            guessed = [Instruction(line, "guessed", (), ())] * SLOTS_PER_STATEMENT
            yield guessed, count, latency["statement"]
        of_memory = {"global": self.global_latency, "shared": latency["shared"]}
        for (line, space), count in self.work.requests.items():
            yield [Instruction(line, FREE[0], (), ())], count, of_memory.get(space, 0)

    def latency(self, one: Instruction) -> float:
        """Cycles from an instruction until its result can be used."""
        known = self.gpu["latency"]
        if one.name.startswith("bar"):
            return float(known["barrier"] + self.warps * known["barrier_per_warp"])
        if one.space == "global":
            return float(known["cache"] if one.name.startswith("atom") else self.global_latency)
        if one.space == "shared":
            return float(known["shared_atomic" if one.name.startswith("atom") else "shared"])
        if one.space == "local":
            return float(known["small"])
        kind = next((name for start, name in KINDS.items() if one.name.startswith(start)), "other")
        if kind == "other":
            return float(max(1.0, slots_of(one.name) / 1.5) * known["other"])
        return float(known[kind])

    @property
    def global_latency(self) -> float:
        """Cycles of a read: a warp waits for the slowest of its lanes, which no first cache has."""
        return float(self.gpu["latency"]["memory" if self.beyond_caches else "cache"])
