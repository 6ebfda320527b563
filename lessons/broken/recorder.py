"""Run a check of a lesson twice, side by side: with a wrong file, and with our solution.

What is looked at are its launches: each with its kernel, its grid and block, and which part of
which array each argument is. All files here are our own, so they run in this process.
"""

import linecache
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from lessons.broken.reader import differs
from lessons.broken.sources import Unfit
from lessons.course.lesson import Check, Lesson
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.result import Attempt
from lessons.grading.judge.runs import LastRun
from lessons.grading.judge.verdict import NoNumbers
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.outcome import Counts
from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import Student
from lessons.lab.dimensions import as_dim3, volume
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.run import checked_run
from lessons.lab.simulator.traffic import SUMS, Traffic

SEED = 38
MOST_THREADS = 20_000  # of a launch: other simulators start a thread of the processor for each
MOST_LAUNCHES = 24
BUDGET = 300_000  # rounds of loops


class Shown(Exception):
    """A run has been found in which the mistake shows, or one of a right file."""


class Launch(NamedTuple):
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: list[Any]  # as reader.argument reads them


@dataclass
class Program:
    """What a file did in one run. arrays: as it has left them; error: what the host raised."""

    arrays: list[np.ndarray]
    launches: list[Launch] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    error: str = ""


@dataclass
class Run:
    """One run of a check. originals: its arrays and outputs; before: what they held.

    compared: number of an array -> how much its elements may differ, as the check has asked.
    """

    originals: list[Any]
    before: list[np.ndarray]
    names: list[str]
    wrong: Program
    right: Program
    compared: dict[int, float] = field(default_factory=dict)

    def tolerances(self, usual: float) -> dict[int, float]:
        """Of all outputs, if the check has looked at none of them itself."""
        outputs = [n for n, one in enumerate(self.originals) if isinstance(one, Output)]
        return self.compared or {
            n: usual * max(1.0, largest(self.right.arrays[n])) for n in outputs
        }

    def differs(self, usual: float) -> bool:
        """Twice the tolerance: the numbers compared are both rounded."""
        wrong, right = self.wrong.arrays, self.right.arrays
        each = self.tolerances(usual).items()
        return any(differs(wrong[n], right[n], 2 * allowed).any() for n, allowed in each)


def largest(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)].astype(np.float64))
    return float(finite.max(initial=0.0))


# ---------------------------------------------------------------- one check


class Recorder(NoNumbers):
    """Runs a check to its end with right numbers, whatever the wrong file has computed."""

    recipes: dict[int, dict[str, Any]]

    def random(
        self, shape: Any, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32
    ) -> Any:
        """As `Case.random`, with a seed of its own for each array: so it is told in a line."""
        recipes = self.runs.recipes  # type: ignore[attr-defined]
        name = f"{self.lesson.name} {self.check.name}".encode()
        seed = [self.seed, zlib.crc32(name), len(recipes)]
        array = np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)
        recipe = {"uniform": [float(low), float(high)], "seed": seed}
        recipes[id(array)] = array, array.copy(), recipe
        return array

    def expect(self, got: Any, expected: Any, *others: Any, **named: Any) -> None:
        tolerance = named.get("tolerance", others[2] if len(others) > 2 else None)
        values = np.asarray(expected)
        self.runs.note_expected(  # type: ignore[attr-defined]
            got, self.usual_tolerance(values) if tolerance is None else tolerance
        )


class SideBySide:
    """Takes the place of `Runs`: what a check runs, runs here with both files."""

    on_gpu = False
    evidence = None

    def __init__(self, wrong: Any, right: Any, usual: float, wants_right: bool) -> None:
        self.wrong, self.right = wrong, right
        self.usual = usual
        self.wants_right = wants_right
        self.recipes: dict[int, Any] = {}
        self.last = LastRun()
        self.calls: list[str] = []
        self.pending: Run | None = None
        self.shown: Run | None = None

    def size(self, large: Any, small: Any) -> Any:
        return small

    def backend_of(self, engine: str | None) -> str:
        return "checked"

    @property
    def submission(self) -> None:
        return None

    @submission.setter
    def submission(self, _: Submission) -> None:
        raise Unfit("code that is made during the check")

    def note(self, *_: str) -> None:
        raise Unfit("host code that copies and waits by itself")

    def call(self, function: str, arguments: tuple[object, ...]) -> object:
        made = plain(self.right, function)(*with_students(arguments, self.right))
        return tuple(made) if isinstance(made, list) else made

    def run(self, backend: str, function: str, arguments: tuple[object, ...], **_: Any) -> Counts:
        self.settle()
        originals, names = [], []
        for name, array in arrays_in(arguments):
            if not any(array is other for other in originals):
                originals.append(array)
                names.append(name)
        before = [array_of(one).copy() for one in originals]
        programs = [
            program(module, function, arguments, originals) for module in (self.wrong, self.right)
        ]
        self.pending = Run(originals, before, names, *programs)
        if programs[1].error or programs[1].findings:
            raise Unfit("a run that ours cannot take here")
        for original, made in zip(originals, programs[1].arrays, strict=True):
            if isinstance(original, Output):
                original.array[...] = made
        return NoCounts(originals, ())

    def note_expected(self, got: Any, tolerance: float) -> None:
        if self.pending is None:
            return
        array = got.array if isinstance(got, Output) else np.asarray(got)
        for number, one in enumerate(self.pending.originals):
            if isinstance(one, Output) and np.may_share_memory(one.buffer, array):
                known = self.pending.compared.get(number, 0.0)
                self.pending.compared[number] = max(known, float(tolerance))

    def settle(self) -> None:
        """Decide whether the last run is one to show, now that the check has looked at it."""
        run, self.pending = self.pending, None
        if run is None or not (run.wrong.launches or run.wrong.error):
            return
        shows = bool(run.wrong.findings or run.wrong.error or run.differs(self.usual))
        if shows or self.wants_right:
            self.shown = run
            raise Shown


class NoCounts(Counts):
    """Counts of nothing, by which a check can divide."""

    def of(self, *arrays: object) -> Traffic:
        return Traffic("", **dict.fromkeys(SUMS, 1))

    def shared(self) -> Traffic:
        return self.of()

    everything = shared

    def busiest_line(self, field: str, *arrays: object) -> int:
        return 0


def shown_in(
    lesson: Lesson, check: Check, function: CheckFunction, text: str, solution: Any, right: bool
) -> tuple[Run | None, dict[int, Any]]:
    """(the first run of a check in which a wrong file's mistake shows, recipes of its arrays).

    None if it shows in none. right: take the first run at all. Raises `Unfit`.
    """
    wrong = module_of(text, f"{lesson.name}_wrong")
    attempt = Attempt(lesson, check, Submission(Path("wrong.py"), text.encode()), SEED)
    runs = SideBySide(wrong, solution, check.tolerance, right)
    recorder: Any = Recorder(attempt, runs)  # type: ignore[arg-type]
    with suppress(Shown):
        try:
            function(recorder)
        finally:  # a check may end in an error: it is not written for counts that are none
            runs.settle()
    return runs.shown, runs.recipes


def module_of(text: str, name: str) -> SimpleNamespace:
    """A file of ours, run. Its text can be looked up, as the simulator does."""
    file = f"<{name} {zlib.crc32(text.encode())}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": name}
    exec(compile(text, file, "exec"), names)
    return SimpleNamespace(**names)


def plain(module: Any, name: str) -> Callable:
    function = getattr(module, name)
    return getattr(function, "py_func", function)


# ---------------------------------------------------------------- arrays among arguments


def arrays_in(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, array or output) of each among the arguments of a function, also in tuples."""
    if isinstance(value, (np.ndarray, Output)):
        yield name, value
    elif isinstance(value, (tuple, list)):
        fields = getattr(value, "_fields", range(len(value)))
        for part, item in zip(fields, value, strict=True):
            yield from arrays_in(item, f"{name}.{part}" if name else str(part))


def array_of(one: Any) -> np.ndarray:
    return one.array if isinstance(one, Output) else one


def with_students(value: Any, module: Any) -> Any:
    if isinstance(value, Student):
        return getattr(module, value.name)
    if isinstance(value, (tuple, list)):
        items = [with_students(item, module) for item in value]
        return rebuilt(value, items)
    return value


def with_copies(value: Any, module: Any, originals: Sequence[Any], copies: Sequence[Any]) -> Any:
    """Arguments with functions of a module, and with copies in the place of arrays."""
    for original, copy in zip(originals, copies, strict=True):
        if value is original:
            return copy
    if isinstance(value, Student):
        return getattr(module, value.name)
    if isinstance(value, (tuple, list)):
        return rebuilt(value, [with_copies(item, module, originals, copies) for item in value])
    return value


def rebuilt(value: Any, items: list[Any]) -> Any:
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


# ---------------------------------------------------------------- the launches of one file


def program(
    module: Any, function: str, arguments: Sequence[Any], originals: Sequence[Any]
) -> Program:
    """Call `function(*arguments, launch=...)` of a file on copies of the arrays."""
    arrays = [np.ascontiguousarray(array_of(one)).copy() for one in originals]
    made = Program(arrays)

    def launch(kernel: Any, blocks: Any, threads: Any, *given: Any) -> None:
        grid, block = as_dim3(blocks, "grid"), as_dim3(threads, "block")
        if volume(grid) * volume(block) > MOST_THREADS or len(made.launches) >= MOST_LAUNCHES:
            raise Unfit("more threads or launches than others can run")
        told = [told_argument(value, arrays) for value in given]
        made.launches.append(Launch(kernel, tuple(grid), tuple(block), told))
        report = checked_run(
            kernel, grid, block, *given, measure=False, budget=BUDGET, ask_numba=False,
            negative=False,
        )  # fmt: skip
        made.findings += report.problems

    try:
        if not hasattr(module, function):
            raise Unfit(f"a file without {function}")
        with np.errstate(all="ignore"):
            copied = with_copies(tuple(arguments), module, originals, arrays)
            getattr(module, function)(*copied, launch=launch)
    except Unfit:
        raise
    except Exception as error:
        made.error = f"{type(error).__name__}: {error}"
    return made


def told_argument(value: Any, arrays: Sequence[np.ndarray]) -> Any:
    """A kernel's argument as `reader.argument` reads it. Raises `Unfit`."""
    if isinstance(value, np.ndarray):
        return told_array(value, arrays)
    if isinstance(value, tuple):
        fields = list(getattr(value, "_fields", ()))
        items = [told_argument(item, arrays) for item in value]
        return {"tuple": type(value).__name__ if fields else "", "fields": fields, "items": items}
    if isinstance(value, (np.number, np.bool_, bool, int, float)) and np.isfinite(value):
        plain = type(value) in (bool, int, float)
        return value if plain else {"number": value.dtype.name, "value": value.item()}
    raise Unfit(f"a kernel that is given a {type(value).__name__}")


def told_array(value: np.ndarray, arrays: Sequence[np.ndarray]) -> dict[str, Any]:
    for number, array in enumerate(arrays):
        if not np.may_share_memory(value, array):
            continue
        if value.shape == array.shape and value.strides == array.strides:
            return {"array": number}
        if not value.flags.c_contiguous or value.dtype != array.dtype:
            raise Unfit("a part of an array that is not contiguous")
        first = value.ctypes.data - array.ctypes.data
        return {"array": number, "first": first // value.itemsize, "shape": list(value.shape)}
    raise Unfit("an array that the host has made itself")
