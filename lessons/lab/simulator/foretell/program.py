"""What the compiler makes of a kernel: its instructions, how often each runs, and who waits.

NVIDIA's intermediate language (PTX) is text, with the line of the kernel beside each instruction. A
jump back makes a loop. How often its rounds ran is not in the text. But the simulator has counted
how often each line asked for memory, and how often it was executed.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..work import Work

INSTRUCTION = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.*);")
REGISTER = re.compile(r"%[a-z]+\d+")
MEMORY = re.compile(r"(?:ld|st|atom|red|cp\.async\.c\w)\..*?(?:\b(shared|local|param|const)\b|$)")
NO_RESULT = ("st.", "red.", "cp.", "prefetch", "nanosleep")
# Instructions of the machine for one of PTX, where it is not one: the first that fits. A division
# of 64 bits has one of 32 beside it, which is taken where both numbers are small.
SLOTS = (
    (r"ld\.param|ret|mov\.|cvta\.|bra\.uni|cvt\.u64\.u32|cvt\.s64\.s32|begin", 0),
    (r"(div|rem)\.[su]64", 0), (r"(div|rem)\.[su]32", 18), (r"(div|sqrt|rcp)\.rn\.f32", 10),
    (r"(div|sqrt|rcp)\.rn\.f64", 40), (r"(mul|mad)\.(lo\.[su]64|hi)", 4),
    (r".*\.f64|.*\.approx", 2), (r"mul\.wide|(ld|st|atom|red)\.", 1), (r".*\.[usb]64", 2),
)  # fmt: skip
BEGIN = "begin"  # in place of an instruction: the text has come to another line


class Instruction(NamedTuple):
    """kind: what it does, "fma", or the memory that it asks: "global", "shared", "local". width:
    numbers that a thread reads or writes at once. slots: instructions of the machine."""

    line: int
    kind: str
    width: int
    slots: float
    results: Sequence[str]
    operands: Sequence[str]


# The instructions outside of all loops, then those of each loop, without those of loops in it.
Program = list[list[Instruction]]


@functools.lru_cache(maxsize=128)
def read_ptx(ptx: str) -> Program:
    """The kernel of a text of PTX."""
    outside: list[Instruction] = []
    loops: Program = []
    labels, line = {}, 0
    for text in map(str.strip, ptx[ptx.index(".entry") :].splitlines()):
        if text.startswith(".loc"):
            before, line = line, int(text.split()[2]) or line
            if line != before:
                outside.append(Instruction(line, BEGIN, 1, 0, [], []))
        elif label := re.match(r"(\$?\w+):", text):
            labels[label[1]] = len(outside)
        elif found := INSTRUCTION.match(text):
            outside.append(instruction_of(line, found[1], found[2]))
            if found[1].startswith("bra") and found[2] in labels:  # back: a loop
                first = labels[found[2]]
                loops.append(outside[first:])
                del outside[first:]
    return [outside, *loops]


def instruction_of(line: int, name: str, text: str) -> Instruction:
    """Its first operand is the result, or several in braces."""
    first = re.match(r"\{[^}]*\}|[^,]*", text)
    end = first.end() if first and not name.startswith(NO_RESULT) else 0
    memory, wide = MEMORY.match(name), re.search(r"\.v([24])\.", name)
    kind = (memory[1] or "global") if memory else name.partition(".")[0]
    slots = next((slots for pattern, slots in SLOTS if re.match(pattern, name)), 1)
    registers = REGISTER.findall(text[:end]), REGISTER.findall(text[end:])
    return Instruction(line, kind, int(wide[1]) if wide else 1, slots, *registers)


def times_of(program: Program, work: Work, warps: int) -> list[float]:
    """How many warps ran through each part, all rounds of loops together.

    What a line asked for is shared out evenly among its copies in loops: a compiler writes a loop
    out several times, and what is left of it once more.
    """
    copies: Counter[tuple[int, str]] = Counter()
    for one in itertools.chain(*program[1:]):
        copies[one.line, one.kind] += one.width
    times: list[float] = [warps]
    for part in program[1:]:
        asking = {(one.line, one.kind) for one in part} & work.requests.keys()
        rounds = [work.requests[place] / copies[place] for place in asking]
        for (line, _), count in work.executed.items() if not rounds else ():
            if any(one.line == line for one in part):
                rounds.append(count / max(1, copies[line, BEGIN]))
        times.append(max(rounds, default=0))
    return times


def chain_of(part: Sequence[Instruction], latency: Callable[[Instruction], float]) -> float:
    """Cycles that a lone warp needs for a part: its longest chain of results that wait for another.

    It issues one instruction per cycle, and nothing behind a barrier before that is passed.
    """
    ready: dict[str, float] = {}
    passed = last = 0.0
    for one in part:
        end = max([passed, *(ready.get(name, 0.0) for name in one.operands)]) + latency(one)
        if one.kind == "bar":
            passed = end = last + latency(one)
        last = max(last, end)
        ready.update(dict.fromkeys(one.results, end))
    return max(last, sum(one.slots for one in part))
