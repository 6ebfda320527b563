"""What a launch would take on a GPU: the time that each of its parts needs, and who is last.

Each part of a GPU has a *roof*: so much of one kind of work in a microsecond, and not more. The
work is what the simulator has counted. A GPU is a file of measured constants, `gpus/NAME.json`.
"""

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from ...dimensions import as_dim3, volume
from ...errors import InputError
from ...numba_compiler import assembled
from ..traffic import SECTOR_BYTES, WARP, Traffic
from .program import Instruction, chain_of, read_ptx, times_of

FOLDER = Path(__file__).parent / "gpus"
NOWHERE = "", 0  # a place: a file and a line
WORDS = {
    "launch": "the launch itself",
    "blocks": "the start of so many blocks",
    "waiting": "waiting: each warp for its own last result",
    "instructions": "instructions",
    "tensor": "tensor cores",
    "requests": "requests of global memory",
    "cache": "sectors from the second cache",
    "memory": "bytes of the GPU's memory",
    "shared": "passes of shared memory, shuffles among them",
    "atomics": "atomic operations",
}
# What some instructions keep busy, besides those who issue them; their pace is a constant.
BUSY = {"local": "requests", "shfl": "shared", "mma": "tensor"}
OVERLAP = 3  # two roofs of one height do not hide each other quite; a much lower one costs nothing
DEFAULT_REGISTERS = 32  # per thread, where no compiler can be asked
GUESSED_SLOTS = 8  # instructions of a statement or a request of memory, likewise


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
        how = f"{parts} us; {self.warps} of {self.most_warps} warps at a time{how}"
        return f"{self.us:.3g} us on {self.gpu}, foretold: {self.sentence} ({how})"


def gpu_named(name: str) -> dict[str, Any]:
    """The constants of a GPU. Raises `InputError` for one that is not known."""
    known = {path.stem.upper(): path for path in sorted(FOLDER.glob("*.json"))}
    if str(name).upper() not in known:
        names = ", ".join(known) + "; lessons/lab/PREDICT.md says how to add one"
        raise InputError(f"no GPU {name!r} has been measured: take one of {names}")
    constants, all_of_them = (json.loads(known[one].read_text()) for one in (name.upper(), "H200"))
    if lacking := ", ".join(sorted(all_of_them.keys() - constants.keys())):
        raise InputError(f"{known[name.upper()]} lacks {lacking}: h200.json beside it has them")
    return {"name": name.upper(), **constants}


def foretell(report: Any, name: str, grid: int | tuple[int, ...] | None = None) -> Prediction:
    """See `Report.predict`."""
    gpu = gpu_named(name)
    if report.given is None or not report.work.executed or not report.ok:
        why = "a run with measure=True" if report.ok else "a run without problems, to its end"
        raise InputError(f"{report.name}: a time is foretold from what is counted in {why}")
    whole = report.grid if grid is None else as_dim3(grid, "grid")
    return Model(report, gpu, volume(whole)).prediction()


class Model:
    """The roofs of one launch. Times are in cycles of a processor, until they are told."""

    def __init__(self, report: Any, gpu: dict[str, Any], blocks: int) -> None:
        kernel, arguments, types, self.arrays, ran = report.given
        self.report, self.gpu, self.work = report, gpu, report.work
        self.ptx, self.registers = assembled(kernel, arguments, types) or ("", DEFAULT_REGISTERS)
        warps = -(-volume(report.block) // WARP)  # of a block
        queue = -(-blocks // gpu["processors"])  # of the processor with most: it is last
        # Blocks that have room there at a time: of warps, registers and shared memory.
        fitting = gpu["registers"] // (-(-self.registers // 8) * 8 * warps * WARP)
        shared = gpu["shared_bytes"] // (self.work.shared_bytes + 1024)  # which it needs itself
        resident = min(queue, max(1, min(gpu["blocks"], gpu["warps"] // warps, fitting, shared)))
        # From what has run to all blocks, to those of that processor, and to one after the other.
        self.whole, self.share, self.warps_ran = blocks / ran, queue / ran, ran * warps
        self.in_turn, self.warps = -(-queue // resident) / self.warps_ran, resident * warps
        self.roofs = {name: defaultdict[tuple[str, int], float](float) for name in WORDS}
        self.roofs["blocks"][NOWHERE] = blocks * gpu["cycles_per_block"]
        self.add_memory()
        self.add_computing()

    def prediction(self) -> Prediction:
        gpu, roofs = self.gpu, self.roofs
        us = {name: sum(roof.values()) / gpu["clock_ghz"] / 1000 for name, roof in roofs.items()}
        together = sum(one**OVERLAP for one in us.values()) ** (1 / OVERLAP)
        roofs["launch"][NOWHERE] = us["launch"] = gpu["launch_us"]
        bound = max(us, key=lambda name: us[name])
        place = max(roofs[bound], key=roofs[bound].__getitem__)
        return Prediction(
            gpu["name"], us["launch"] + together, us, bound, *place, self.warps, gpu["warps"],
            self.registers, bool(self.ptx),
        )  # fmt: skip

    def add_memory(self) -> None:
        """What lines and arrays ask for, and what the caches do not keep.

        The first cache keeps what a block has read: the block asks the second once per sector.
        Stores and atomics pass through it. The second keeps everything from one launch to the next,
        if all of it has room there.
        """
        gpu, roofs, arrays, counted = self.gpu, self.roofs, self.arrays, self.report.counted
        places: dict[str, tuple[str, int]] = {}  # where most sectors of each array are asked for
        for file, line, array in sorted(counted, key=lambda key: counted[key].sectors):
            places[array] = file, line
            self.add_line((file, line), array, counted[file, line, array])
        different: Counter[str] = Counter()  # sectors of each array that the whole launch touches
        for array, kind in self.work.touched:
            by_block, once = self.work.sectors(array, kind)
            most = max(once, arrays[array].nbytes / SECTOR_BYTES if array in arrays else 0)
            different[array] = max(different[array], min(most, once * self.whole))
            if kind == "read":
                roofs["cache"][places[array]] += (
                    by_block * self.whole / gpu["cache_sectors_per_cycle"]
                )
        self.beyond = sum(different.values()) * SECTOR_BYTES > gpu["cache_bytes"]
        for array, sectors in different.items():
            cycles = sectors * SECTOR_BYTES / gpu["memory_bytes_per_cycle"]
            roofs["memory"][places[array]] += cycles * self.beyond

    def add_line(self, place: tuple[str, int], array: str, one: Traffic) -> None:
        """What one line asks of one array."""
        gpu, roofs = self.gpu, self.roofs
        passes = (one.cache_passes + one.shared_passes) * self.share  # one of them is 0
        roof = "shared" if one.shared_requests else "requests"
        roofs[roof][place] += passes * gpu["cycles_per_pass"]
        stored = one.stored_sectors * self.whole
        roofs["cache"][place] += stored / gpu["cache_sectors_per_cycle"]
        kind = "float" if array in self.work.floats else "int"
        if one.atomics and one.shared_requests:
            alone = one.shared_requests * gpu[f"cycles_per_shared_atomic_{kind}"]
            again = (one.atomic_turns - one.shared_requests) * gpu["cycles_per_shared_meeting"]
            roofs["atomics"][place] += (alone + again * (kind == "float")) * self.share
        elif one.atomics:  # the fewer lines of 4 sectors they go to, the less is side by side
            lines = max(1, self.work.sectors(array, "atomic")[1] / 4)
            at_sectors = one.atomic_sectors * gpu["cycles_per_atomic_sector"]
            at_addresses = one.atomic_turns * gpu[f"cycles_per_meeting_{kind}"]
            cycles = max(at_sectors, at_addresses) / min(gpu["atomic_units"], math.sqrt(lines))
            roofs["atomics"][place] += cycles * self.whole

    def add_computing(self) -> None:
        """Instructions, and waiting: side by side in as many blocks as have room."""
        gpu, roofs, file = self.gpu, self.roofs, self.report.source.filename
        counts = self.work.executed + self.work.requests
        guess = [[Instruction(line, str(kind), 1, GUESSED_SLOTS, [], [])] for line, kind in counts]
        program = read_ptx(self.ptx) if self.ptx else guess
        ran = times_of(program, self.work, self.warps_ran) if self.ptx else counts.values()
        for part, often in zip(program, ran, strict=True):
            for one in part:
                place, slots = (file, one.line), one.slots / gpu["slots"]
                roofs["instructions"][place] += often * self.share * slots
                if one.kind in BUSY:
                    pace = gpu["cycles_per_product" if one.kind == "mma" else "cycles_per_pass"]
                    roofs[BUSY[one.kind]][place] += often * self.share * one.width * pace
            line = Counter(one.line for one in part).most_common(1)[0][0] if part else 0
            roofs["waiting"][file, line] += chain_of(part, self.latency) * often * self.in_turn

    def latency(self, one: Instruction) -> float:
        """Cycles from an instruction until its result can be used."""
        known = self.gpu["latency"]
        kind = "memory" if one.kind == "global" and self.beyond else one.kind
        return float(known.get(kind, max(1, one.slots / 2) * known["other"]))
