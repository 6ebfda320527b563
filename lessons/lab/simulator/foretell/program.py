"""What the compiler makes of a kernel: its instructions, how often each runs, and who waits.

NVIDIA's intermediate language (PTX) is text, with the line of the kernel beside each instruction. A
stretch that is only entered at its top and left at its end is a *stretch* here; a jump back makes a
loop of those it skips. How often each ran is not in the text. But the simulator has counted how
often each line asked for memory, and how often it was executed. A loop that the compiler has
written out four times asks four times per round.
"""

import functools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...numba_compiler import CAPABILITY, any_device, why_not_asked
from ..work import Work

DEFAULT_REGISTERS = 32  # per thread, where no assembler can be asked
SLOTS_PER_STATEMENT = 8  # instructions, where no compiler can be asked
Place = tuple[int, str]  # a line, and which memory it asks
INSTRUCTION = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.*);")
REGISTER = re.compile(r"%[a-z]+\d+")
NO_RESULT = ("st.", "red.", "bar.", "bra", "ret", "cp.", "membar", "fence", "prefetch", "nanosleep")
FREE = ("ld.param", "ret", "mov.", "cvta.", "bra.uni", "cvt.u64.u32", "cvt.s64.s32", "pragma")
# Instructions of the machine for one of PTX, where it is not one: the first that fits.
SLOTS = (
    (r"(div|rem)\.[su]64", 70), (r"(div|rem)\.[su]32", 18), (r"div\.rn\.f32", 10),
    (r"(sqrt|rcp)\.rn\.f32", 11), (r"(div|sqrt|rcp)\.rn\.f64", 40), (r".*\.f64", 2),
    (r"(ex2|lg2|sin|cos|rcp|rsqrt|sqrt|tanh)\.approx", 2), (r"mul\.lo\.[su]64", 4),
    (r"mad\.lo\.[su]64", 5), (r"mul\.hi", 4), (r"mul\.wide", 1), (r"(ld|st|atom|red)\.", 1),
    (r".*\.[usb]64", 1.5),
)  # fmt: skip


class Instruction(NamedTuple):
    line: int
    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]

    @property
    def space(self) -> str:
        """Of the memory that it asks, or "barrier"; "" if it asks none."""
        if self.name.startswith("bar.sync"):
            return "barrier"
        if not self.name.startswith(("ld.", "st.", "atom.", "red.", "cp.async.c")):
            return ""
        found = re.search(r"\.(shared|local|param|const)\b", self.name)
        return found[1] if found else "global"

    @property
    def width(self) -> int:
        """Numbers that a thread reads or writes at once."""
        found = re.search(r"\.v([24])\.", self.name)
        return int(found[1]) if found else 1


class Stretch(NamedTuple):
    """Instructions that run one after the other."""

    label: str
    instructions: list[Instruction]
    goes_to: list[str]


class Program(NamedTuple):
    """loops: (first, last) stretch, outer ones first."""

    stretches: list[Stretch]
    loops: list[tuple[int, int]]
    registers: int


def read_ptx(ptx: str, registers: int) -> Program:
    """The kernel of a text of PTX."""
    stretches, line = [Stretch("", [], [])], 0
    for text in map(str.strip, ptx[ptx.index(".entry") :].splitlines()):
        if text.startswith(".loc"):
            line = int(text.split()[2]) or line
        elif re.match(r"\$?\w+:", text):
            if not (stretches[-1].label or stretches[-1].instructions):
                stretches.pop()
            stretches.append(Stretch(text.partition(":")[0], [], []))
        elif found := INSTRUCTION.match(text):
            if found[1] == "bra" or found[1] == "bra.uni":
                stretches[-1].goes_to.append(found[2].strip())
            stretches[-1].instructions.append(instruction_of(line, found[1], found[2]))
            if found[1].startswith("bra"):
                stretches.append(Stretch("", [], []))
    if any(re.match(r"(div|rem)\.u32", one.name) for s in stretches for one in s.instructions):
        # Where both numbers fit into 32 bits, that is the way that is taken.
        for stretch in stretches:
            stretch.instructions[:] = [one for one in stretch.instructions
                                       if not re.match(r"(div|rem)\.[su]64", one.name)]  # fmt: skip
    loops = loops_in(stretches)
    return Program(stretches, loops, registers)


def instruction_of(line: int, name: str, text: str) -> Instruction:
    """Its first operand is the result, or several in braces."""
    if name.startswith(NO_RESULT):
        return Instruction(line, name, (), tuple(REGISTER.findall(text)))
    first = re.match(r"\{[^}]*\}|[^,]*", text)
    end = first.end() if first else 0
    results, operands = REGISTER.findall(text[:end]), REGISTER.findall(text[end:])
    return Instruction(line, name, tuple(results), tuple(operands))


def loops_in(stretches: Sequence[Stretch]) -> list[tuple[int, int]]:
    """A jump back goes from a loop's last stretch to its first."""
    place = {stretch.label: i for i, stretch in enumerate(stretches) if stretch.label}
    last: dict[int, int] = {}
    for i, stretch in enumerate(stretches):
        for label in stretch.goes_to:
            if place.get(label, i + 1) <= i:
                last[place[label]] = max(i, last.get(place[label], 0))
    return sorted(last.items(), key=lambda loop: (loop[0], -loop[1]))


@functools.lru_cache(maxsize=256)
def slots_of(name: str) -> float:
    """Instructions of the machine that one of PTX becomes."""
    if name.startswith(FREE):
        return 0
    return next((slots for pattern, slots in SLOTS if re.match(pattern, name)), 1)


# ---------------------------------------------------------------- how often each stretch runs


def times_of(program: Program, work: Work, warps: int) -> list[float]:
    """For each stretch, how many warps ran through it, all rounds of loops together.

    What a line asked for is shared out evenly among its copies in the text: a compiler writes a
    loop out several times, and what is left of it once more.
    """
    most: Counter[int] = Counter()  # by line, warps that executed the statement with most of them
    for (line, _), count in work.executed.items():
        most[line] = max(most[line], count)
    loops, stretches = program.loops, program.stretches
    loop_of = [innermost(loops, i) for i in range(len(stretches))]
    places = [Counter[Place]() for _ in stretches]  # who asks for what, in the text
    asked: Counter[tuple[int | None, Place]] = Counter()  # the same, by loops
    for mine, loop, stretch in zip(places, loop_of, stretches, strict=True):
        for one in stretch.instructions:
            place = statement_line(one.line, most), one.space
            asks = one.width if one.space in ("global", "shared", "barrier") else 0
            mine[place] += asks
            asked[loop, place] += asks
    looped: Counter[Place] = Counter()
    for (loop, place), count in asked.items():
        looped[place] += count if loop is not None else 0
    rounds: dict[int | None, float] = {None: warps}
    for number in range(len(loops)):
        found = [work.requests[place] / looped[place]
                 for (loop, place), count in asked.items() if loop == number and count]  # fmt: skip
        lines = [line for loop, (line, _) in asked if loop == number]
        rounds[number] = max(found or [most[line] for line in lines], default=0)
    times = []
    for loop, mine in zip(loop_of, places, strict=True):
        found = [work.requests[place] / asked[loop, place] for place in mine if mine[place]]
        here = max(found or [most[line] for line, _ in mine], default=0)
        times.append(min(rounds[loop], here) if here else rounds[loop])
    return times


def statement_line(line: int, known: Mapping[int, int]) -> int:
    """The first line of the statement that a line is a part of."""
    return line if line in known else max((one for one in known if one < line), default=line)


def innermost(loops: Sequence[tuple[int, int]], place: int) -> int | None:
    around = [n for n, (first, last) in enumerate(loops) if first <= place <= last]
    return around[-1] if around else None


# ---------------------------------------------------------------- who waits for whom


def waits_of(program: Program, latency: Callable[[Instruction], float]) -> list[float]:
    """For each stretch, the cycles that a lone warp needs for it, with what it has to wait for.

    Each is gone through twice, and the second time is taken: a round of a loop waits for the last.
    """
    cycles = [0.0] * len(program.stretches)
    ready: dict[str, float] = {}
    now = 0.0
    for place in sorted([*range(len(program.stretches))] * 2):
        begin = top = now
        issued = 0.0
        for one in program.stretches[place].instructions:
            issued += slots_of(one.name)
            start = max([top, *(ready.get(name, 0.0) for name in one.operands)])
            now = max(now, start)
            if one.name.startswith("bar"):
                top = now = max(now, begin + issued) + latency(one)
            for name in one.results:
                ready[name] = start + latency(one)
        now = max(now, begin + issued)
        cycles[place] = now - begin
    return cycles


# ---------------------------------------------------------------- asking compiler and assembler


def program_of(
    kernel: Callable, arguments: Sequence[object], types: tuple | None
) -> Program | None:
    """A kernel as it is compiled for these arguments; None where the compiler cannot be asked."""
    if why_not_asked():
        return None
    from numba.cuda.typing.typeof import Purpose, typeof

    return compiled(kernel, types or tuple(typeof(one, Purpose.argument) for one in arguments))


@functools.lru_cache(maxsize=128)
def compiled(kernel: Callable, types: tuple) -> Program:
    """A kernel as it is compiled for arguments of these types."""
    from cuda.bindings import nvjitlink
    from numba import cuda

    function = getattr(kernel, "py_func", kernel)
    options = getattr(kernel, "targetoptions", {})
    with warnings.catch_warnings(), any_device():
        warnings.simplefilter("ignore")
        fast = bool(options.get("fastmath"))
        ptx, _ = cuda.compile_ptx(function, types, cc=CAPABILITY, fastmath=fast, lineinfo=True)
    given = ["-arch=sm_{}{}".format(*CAPABILITY), "-verbose"]
    if options.get("max_registers"):
        given.append(f"-maxrregcount={options['max_registers']}")
    linker = nvjitlink.create(len(given), given)
    try:
        text = ptx.encode()
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text, len(text), "kernel")
        nvjitlink.complete(linker)
        log = bytearray(nvjitlink.get_info_log_size(linker))
        nvjitlink.get_info_log(linker, log)
    finally:
        nvjitlink.destroy(linker)
    used = re.search(r"used (\d+) registers", log.decode())
    return read_ptx(ptx, int(used[1]) if used else DEFAULT_REGISTERS)
