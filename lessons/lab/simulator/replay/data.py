"""What the replay page shows, as JSON: sources, arrays, findings, and the steps of the run.

    {"kernel", "grid", "block", "summary", "notes",
     "lists": whole numbers, see `Lists`; below, "list" means a place in it
     "sources": [{"name", "file", "first": number of the first line, "lines"}],
     "arrays": [{"name", "space", "shape", "type", "itemsize", "address", "strides", "initial",
                 "aliases": arrays in the same memory}],
     "findings": [{"kind", "line", "source", "message", "meaning", "advice", "step", "threads",
                   "other"}],
     "threads": list of the threads that are shown,
     "steps": [{"kind", "source", "line", "phase", "array", "threads": list, "elements": list,
                "values", "count", "findings", "marked", "wanted", "before"}]}

Threads are numbers in the launch, block by block. The elements of an array stand one instance
after another: one per block if it is shared, one per thread if it is local. What is empty is left
out of a step. A finding's "step" is -1 if it belongs to none; "other" is the step of the other
access of a race."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dimensions import Dim3, volume
from ...source import Source, file_label
from ..events import ArrayFacts, Recording, Step
from ..findings import KINDS, Finding
from ..traffic import WARP

MOST_TEXT = 12  # characters of a value that is no number

Json = object


class Lists:
    """Lists of whole numbers, each kept once. Most are regular: thread i touches element i."""

    def __init__(self) -> None:
        self.encoded: list[Json] = []
        self.numbers: dict[bytes, int] = {}  # bytes of a list -> its place in `encoded`

    def place_of(self, values: np.ndarray) -> int:
        """Where a list stands in `encoded`; it is put there if it is new."""
        values = np.ascontiguousarray(values, np.int64)
        key = values.tobytes()
        if key not in self.numbers:
            self.numbers[key] = len(self.encoded)
            self.encoded.append(encode_whole_numbers(values))
        return self.numbers[key]


def encode_whole_numbers(values: np.ndarray) -> Json:
    """A plain list, or {"runs": [first, step, count, first, step, count, ...]} if that is shorter.

    values: (n,) int.
    """
    plain: list[int] = values.tolist()
    runs: list[int] = []
    begin = 0
    while begin < len(plain) and len(runs) < len(plain):
        step = plain[begin + 1] - plain[begin] if begin + 1 < len(plain) else 0
        end = begin + 1
        while end < len(plain) and plain[end] - plain[end - 1] == step:
            end += 1
        runs += [plain[begin], step, end - begin]
        begin = end
    return {"runs": runs} if len(runs) < len(plain) else plain


def encode_values(values: np.ndarray) -> Json:
    """Values of elements, rounded to four digits; {"same": value, "count": n} if they are equal."""
    plain = [plain_value(value) for value in values.tolist()]
    if len(plain) > 2 and plain.count(plain[0]) == len(plain):
        return {"same": plain[0], "count": len(plain)}
    return plain


def plain_value(value: object) -> Json:
    """A number, or a short text."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else f"{value:.3e}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return float(f"{value:.4g}")
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    text = str(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


# ---------------------------------------------------------------- which threads and steps are shown


class Limits(NamedTuple):
    """How much of a run to show at most."""

    threads: int
    steps: int


def threads_of(finding: Finding, grid: Dim3, block: Dim3) -> list[int]:
    """Numbers in the launch of the threads that a finding is about: the one, then the other."""
    found = []
    for thread, in_block in (
        (finding.thread, finding.block),
        (finding.other_thread, finding.other_block),
    ):
        if thread is not None and in_block is not None:
            found.append(linear(in_block, grid) * volume(block) + linear(thread, block))
    return found


def linear(coordinates: Dim3, sizes: Dim3) -> int:
    """(x, y, z) as one number, x running fastest."""
    x, y, z = coordinates
    return x + sizes[0] * (y + sizes[1] * z)


def shown_threads(
    steps: Sequence[Step], important: Sequence[int], per_block: int, most: int
) -> np.ndarray:
    """(n,) int, sorted: whole blocks, first those of the important threads, up to `most` threads.

    important: numbers in the launch. per_block: threads of a block. At least one block is shown;
    of a block with more than `most` threads, its first ones and the warps of the important ones.
    """
    seen = [np.unique(step.thread // per_block) for step in steps]
    blocks = [thread // per_block for thread in important]
    blocks += np.unique(np.concatenate(seen)).tolist() if seen else []
    chosen = list(dict.fromkeys(blocks))[: max(1, most // per_block)]
    if len(chosen) == 1 and per_block > most:
        first = chosen[0] * per_block
        of_warps = [thread // 32 * 32 for thread in important if thread // per_block == chosen[0]]
        parts = [np.arange(first, first + most)]
        parts += [np.arange(warp, min(warp + 32, first + per_block)) for warp in of_warps[:4]]
        return np.unique(np.concatenate(parts))
    parts = [np.arange(block * per_block, (block + 1) * per_block) for block in sorted(chosen)]
    return np.concatenate(parts) if parts else np.arange(0)


def shown_steps(important: Sequence[int], count: int, most: int) -> list[int]:
    """Numbers of at most `most` of `count` steps: the first, and those before important ones."""
    if count <= most:
        return list(range(count))
    chosen: set[int] = set()
    if important:
        each = max(2, most // 2 // len(important))
        for number in important[: most // 2]:
            chosen.update(range(max(0, number - each + 2), min(count, number + 2)))
    for number in range(count):
        if len(chosen) >= most:
            break
        chosen.add(number)
    return sorted(chosen)


def unpadded(step: Step, padded: int, per_block: int) -> Step:
    """With threads numbered without those that fill up a block's last warp."""
    return step._replace(thread=step.thread // padded * per_block + step.thread % padded)


def only(step: Step, threads: np.ndarray) -> Step:
    """What these threads do in a step."""
    mine = np.isin(step.thread, threads)
    if mine.all():
        return step
    return step._replace(
        thread=step.thread[mine],
        element=None if step.element is None else step.element[mine],
        values=[values[mine] for values in step.values],
        wanted=None if step.wanted is None else step.wanted[mine],
    )


# ---------------------------------------------------------------- the page's data


MAX_BYTES = 1_700_000  # the page's own files come on top
MOST_THREADS, FEWEST_THREADS, MOST_STEPS = 2048, 256, 1200
MOST_ACCESSES = 500_000  # that are worth a try
MOST_WANTED = 256  # indices that miss an array, per step
MOST_FINDINGS, MOST_LINES, MOST_COLUMNS, MOST_MESSAGE = 40, 1000, 240, 2000


class Run(NamedTuple):
    """What a run leaves behind for its replay.

    findings: as in the report. recording: None if nothing was recorded.
    """

    source: Source
    grid: Dim3
    block: Dim3
    summary: str
    findings: Sequence[Finding]
    recording: Recording | None


class Shown(NamedTuple):
    """The part of a run that the page shows."""

    steps: list[Step]
    before: list[int]  # how many steps are left out before each
    threads: np.ndarray  # (n,) int, sorted: numbers in the launch
    notes: list[str]
    some_hidden: bool  # whether some threads are not shown


def replay_data(run: Run) -> str:
    """The JSON of a run: less of it, where it would be more than `MAX_BYTES`."""
    recording = run.recording or Recording()
    recording.finish()
    limits = Limits(MOST_THREADS, min(MOST_STEPS, max(8, len(recording.steps))))
    while True:
        shown = choose(run, recording, limits)
        last_try = limits.threads <= WARP and limits.steps <= 8
        if last_try or sum(len(step.thread) for step in shown.steps) <= MOST_ACCESSES:
            text = json.dumps(Page(run, recording, shown).content(), separators=(",", ":"))
            if last_try or len(text) <= MAX_BYTES:
                return text
        if limits.threads > FEWEST_THREADS or limits.steps <= 8:
            limits = limits._replace(threads=limits.threads // 2)
        else:
            limits = limits._replace(steps=limits.steps // 2)


# ---------------------------------------------------------------- what is shown


def choose(run: Run, recording: Recording, limits: Limits) -> Shown:
    per_block, all_blocks = volume(run.block), volume(run.grid)
    padded = -(-per_block // WARP) * WARP
    wrong = [number for number, step in enumerate(recording.steps) if step.findings]
    numbers = shown_steps(wrong, len(recording.steps), limits.steps)
    steps = [unpadded(recording.steps[number], padded, per_block) for number in numbers]

    important = []
    for finding in run.findings:
        if not finding.advice:
            important += threads_of(finding, run.grid, run.block)
    for step in steps:
        if step.findings:
            important += step.thread[:1].tolist()
    threads = shown_threads(steps, important, per_block, limits.threads)
    everybody = len(threads) == per_block * all_blocks
    if not everybody:
        steps = [only(step, threads) for step in steps]

    # A step of which nothing is left to see is left out, too.
    kept = [place for place, step in enumerate(steps) if len(step.thread) or step.findings]
    before, last = [], -1
    for place in kept:
        between = range(last + 1, numbers[place] + 1)
        before.append(len(between) - 1 + sum(recording.before[number] for number in between))
        last = numbers[place]
    steps = [steps[place] for place in kept]
    some_hidden = not everybody or any(step.threads > len(step.thread) for step in steps)
    notes = notes_on(run, recording, steps, before, threads, everybody)
    return Shown(steps, before, threads, notes, some_hidden)


def notes_on(
    run: Run,
    recording: Recording,
    steps: Sequence[Step],
    before: Sequence[int],
    threads: np.ndarray,
    everybody: bool,
) -> list[str]:
    """What the page says about what it does not show."""
    notes = []
    if run.recording is None:
        notes.append("The run was not recorded: checked_run(..., record=True) keeps its steps.")
    elif not recording.steps:
        notes.append("No thread touched an array: there are no steps to replay.")
    if steps and not everybody:
        count = volume(run.grid) * volume(run.block)
        blocks = len(np.unique(threads // volume(run.block)))
        notes.append(
            f"This page shows {len(threads):,} of {count:,} threads, from {blocks:,} of "
            f"{volume(run.grid):,} blocks."
        )
    left_out = sum(before) + recording.left_out
    if left_out:
        notes.append(f"This page shows {len(steps):,} steps; {left_out:,} more are left out.")
    if len(run.findings) > MOST_FINDINGS:
        notes.append(f"Only the first {MOST_FINDINGS} of {len(run.findings)} findings are listed.")
    return notes


# ---------------------------------------------------------------- the content of the page


class Page:
    """Puts the JSON of one run together."""

    def __init__(self, run: Run, recording: Recording, shown: Shown) -> None:
        self.run = run
        self.recording = recording
        self.shown = shown
        self.lists = Lists()
        self.sources: list[Source] = [run.source]
        self.read_from_memory = shown.some_hidden

    def content(self) -> dict[str, Any]:
        steps = [
            self.step(step, left_out)
            for step, left_out in zip(self.shown.steps, self.shown.before, strict=True)
        ]
        findings = self.findings(steps)
        return {
            "kernel": self.run.source.function.__name__,
            "grid": self.run.grid,
            "block": self.run.block,
            "summary": self.run.summary.splitlines()[0],
            "notes": self.shown.notes,
            "threads": self.lists.place_of(self.shown.threads),
            "steps": steps,
            "findings": findings,
            "sources": [self.source(source) for source in self.sources],
            "arrays": [self.array(array) for array in self.recording.arrays],
            "lists": self.lists.encoded,
        }

    def step(self, step: Step, left_out: int) -> dict[str, Any]:
        content: dict[str, Any] = {
            "kind": step.kind,
            "source": self.number_of(step.source),
            "line": step.line,
            "phase": step.phase,
            "threads": self.lists.place_of(step.thread),
        }
        self.read_from_memory = self.read_from_memory or left_out > 0
        if step.array >= 0:
            content["array"] = step.array
        if step.element is not None:
            content["elements"] = self.lists.place_of(step.element)
        if step.values and (step.kind != "read" or self.shows_what_is_read(step)):
            content["values"] = encode_values(step.values[0])
        if step.threads > len(step.thread):
            content["count"] = step.threads
        if step.findings:
            content["findings"] = [n for n in step.findings if n < MOST_FINDINGS]
        if step.marked:
            content["marked"] = step.marked
        if step.wanted is not None:
            content["wanted"] = step.wanted[:MOST_WANTED].tolist()
        if left_out:
            content["before"] = left_out
        return content

    def shows_what_is_read(self, step: Step) -> bool:
        """Whether the page does not know it from what was written."""
        array = self.recording.arrays[step.array]
        known = 0 if array.initial is None else len(array.initial)
        beyond = array.space == "global" and math.prod(array.shape) > known
        beyond = beyond or bool(self.aliases_of(array))
        return beyond or (self.read_from_memory and not step.findings)

    def number_of(self, source: Source) -> int:
        same = [known.function is source.function for known in self.sources]
        if True not in same:
            self.sources.append(source)
        return same.index(True) if True in same else len(same)

    def source(self, source: Source) -> dict[str, Any]:
        numbers = sorted(source.lines)[:MOST_LINES]
        return {
            "name": source.function.__name__,
            "file": file_label(source.filename),
            "first": numbers[0] if numbers else 1,
            "lines": [source.lines[number][:MOST_COLUMNS] for number in numbers],
        }

    def array(self, array: ArrayFacts) -> dict[str, Any]:
        content: dict[str, Any] = {
            "name": array.name[:MOST_COLUMNS],
            "space": array.space,
            "shape": array.shape,
            "type": str(array.dtype)[:MOST_COLUMNS],
            "itemsize": array.dtype.itemsize,
            "address": array.address,
        }
        if array.strides is not None:
            content["strides"] = array.strides
        aliases = self.aliases_of(array)
        if aliases:
            content["aliases"] = aliases
        # Where some threads are not shown, they may have changed what stood there at first.
        if array.initial is not None and not self.shown.some_hidden:
            content["initial"] = encode_values(array.initial)
        return content

    def aliases_of(self, array: ArrayFacts) -> list[int]:
        """Numbers of the other arrays that share bytes with an array."""
        place = array.place
        return [
            number
            for number, other in enumerate(self.recording.arrays)
            if other is not array
            and max(place.start, other.place.start) < min(place.stop, other.place.stop)
        ]

    # ------------------------------------------------------------ findings

    def findings(self, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The findings. One without a step gets one of its own, at the end of `steps`."""
        step_of = {
            number: place for place, step in enumerate(steps) for number in step.get("findings", [])
        }
        return [
            self.finding(number, finding, step_of, steps)
            for number, finding in enumerate(self.run.findings[:MOST_FINDINGS])
        ]

    def finding(
        self, number: int, finding: Finding, step_of: dict[int, int], steps: list[dict[str, Any]]
    ) -> dict[str, Any]:
        if number not in step_of and not finding.advice:
            step_of[number] = self.place_for(number, finding.line, steps)
        place = step_of.get(number, first_step_of(finding.line, steps))
        threads = threads_of(finding, self.run.grid, self.run.block)
        content = {
            "kind": finding.kind,
            "line": finding.line,
            "source": self.source_of(finding),
            "message": finding.message[:MOST_MESSAGE],
            "meaning": KINDS.get(finding.kind, ""),
            "advice": finding.advice,
            "step": place,
            "threads": threads,
        }
        if finding.kind == "race" and place < len(self.shown.steps):
            content["other"] = self.other_access(place, threads)
        return content

    def source_of(self, finding: Finding) -> int:
        """The number of the source that a finding's line is in; the kernel's, if it is unknown."""
        alike = ((n, one) for n, one in enumerate(self.sources) if one.filename == finding.file)
        return next((number for number, source in alike if finding.line in source.lines), 0)

    def place_for(self, number: int, line: int, steps: list[dict[str, Any]]) -> int:
        """The step of a finding that was made in no access: the barrier, or a new last step."""
        last = steps[-1] if steps else None
        if last and last["kind"].endswith("barrier") and last["line"] == line:
            last.setdefault("findings", []).append(number)
            return len(steps) - 1
        nobody = self.lists.place_of(np.arange(0))
        phase = last["phase"] if last else 0
        steps.append(
            {"kind": "finding", "source": self.source_of(self.run.findings[number]), "line": line,
             "phase": phase, "threads": nobody, "findings": [number]}
        )  # fmt: skip
        return len(steps) - 1

    def other_access(self, place: int, threads: Sequence[int]) -> int:
        """The last step before in which the second thread of a race touched the element; or -1."""
        race = self.shown.steps[place]
        if len(threads) < 2 or not race.marked:
            return -1
        for number in range(place, -1, -1):
            step = self.shown.steps[number]
            if step.array != race.array or step.element is None or step.kind == "outside":
                continue
            if np.isin(step.element[step.thread == threads[1]], race.marked).any():
                return number
        return -1


def first_step_of(line: int, steps: Sequence[dict[str, Any]]) -> int:
    return next((number for number, step in enumerate(steps) if step["line"] == line), -1)
