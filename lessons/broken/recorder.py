"""Run a check of a lesson twice, side by side: with a wrong file, and with our solution.

What is looked at are its launches: each with its kernel, its grid and block, and which part of
which array each argument is. All files here are our own, so they run in this process.
"""

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lessons.broken.reader import differs, loaded
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
from lessons.lab.simulator.run import checked_run
from lessons.lab.simulator.traffic import SUMS, Traffic

SEED = 38
MOST_THREADS = 20_000  # of a launch: other simulators start a thread of the processor for each
MOST_LAUNCHES = 24
CHECKED = {"measure": False, "budget": 300_000, "ask_numba": False, "negative": False}


class Shown(Exception):
    """A run has been found in which the mistake shows, or one of a right file."""


@dataclass
class Program:
    """What a file did in one run. arrays: as it has left them; error: whether the host raised.

    launches: as in the exported line, but for "kernel", which is the kernel itself.
    """

    arrays: list[np.ndarray]
    launches: list[dict[str, Any]] = field(default_factory=list)
    found: bool = False
    error: bool = False


@dataclass
class Run:
    """One run of a check. originals: its arrays and outputs; before: what they held.

    compared: number of an array that the check has compared -> how much an element may differ.
    """

    originals: list[Any]
    before: list[np.ndarray]
    wrong: Program
    right: Program
    compared: dict[int, float]

    def shows(self) -> bool:
        """Twice the tolerance: the numbers compared are both rounded."""
        pairs = [
            (self.wrong.arrays[n], self.right.arrays[n], 2 * t) for n, t in self.compared.items()
        ]
        return self.wrong.found or self.wrong.error or any(differs(*one).any() for one in pairs)


class Recorder(NoNumbers):
    """Runs a check to its end with right numbers, whatever the wrong file has computed."""

    def random(self, shape: Any, low: float = 0, high: float = 1, dtype: Any = np.float32) -> Any:
        """As `Case.random`, with a seed of its own for each array: so it is told in a line."""
        recipes = self.runs.recipes  # type: ignore[attr-defined]
        name = f"{self.lesson.name} {self.check.name}".encode()
        seed = [self.seed, zlib.crc32(name), len(recipes)]
        array = np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)
        recipes.append((array.tobytes(), array.shape, {"uniform": [low, high], "seed": seed}))
        return array

    def expect(self, *arguments: Any, **named: Any) -> None:
        got, expected, _, _, tolerance, *_ = (*arguments, None, None, None, None)
        tolerance = named.get("tolerance", tolerance)
        if tolerance is None:
            tolerance = self.usual_tolerance(np.asarray(expected))
        self.runs.note_compared(got, float(tolerance))  # type: ignore[attr-defined]


class SideBySide:
    """Takes the place of `Runs`: what a check runs, runs here with both files."""

    on_gpu, evidence, submission = False, None, None

    def __init__(self, wrong: Any, right: Any, wants_right: bool) -> None:
        self.files, self.wants_right = (wrong, right), wants_right
        self.recipes: list[tuple[bytes, tuple[int, ...], dict[str, Any]]] = []
        self.last, self.calls = LastRun(), list[str]()
        self.pending: Run | None = None
        self.shown: Run | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if name == "submission":
            raise Unfit("code that is made during the check")
        super().__setattr__(name, value)

    def size(self, large: Any, small: Any) -> Any:
        return small

    def backend_of(self, engine: str | None) -> str:
        return "checked"

    def note(self, *_: str) -> None:
        raise Unfit("host code that copies and waits by itself")

    def call(self, function: str, arguments: tuple[object, ...]) -> object:
        right = self.files[1]
        given = mapped(arguments, lambda one: of_file(one, right))
        called = getattr(right, function)
        return getattr(called, "py_func", called)(*given)

    def run(self, backend: str, function: str, arguments: tuple[object, ...], **_: Any) -> Counts:
        self.settle()
        leaves: list[Any] = []
        mapped(arguments, leaves.append)
        originals = [*{id(v): v for v in leaves if isinstance(v, (np.ndarray, Output))}.values()]
        before = [array_of(one).copy() for one in originals]
        wrong, right = (program(file, function, arguments, originals) for file in self.files)
        if right.error or right.found:
            raise Unfit("a run that our solution cannot take here")
        self.pending = Run(originals, before, wrong, right, {})
        for original, made in zip(originals, right.arrays, strict=True):
            if isinstance(original, Output):
                original.array[...] = made
        return NoCounts(originals, ())

    def note_compared(self, got: Any, tolerance: float) -> None:
        array = got.array if isinstance(got, Output) else np.asarray(got)
        for number, one in enumerate(self.pending.originals if self.pending else ()):
            if isinstance(one, Output) and np.may_share_memory(one.buffer, array):
                known = self.pending.compared  # type: ignore[union-attr]
                known[number] = max(known.get(number, 0.0), tolerance)

    def settle(self) -> None:
        """Decide whether the last run is one to show, now that the check has looked at it."""
        run, self.pending = self.pending, None
        if run is None or not (run.wrong.launches or run.wrong.error):
            return
        if run.shows() or (self.wants_right and run.compared):
            self.shown = run
            raise Shown


class NoCounts(Counts):
    """Counts of nothing, by which a check can divide."""

    def of(self, *arrays: object) -> Traffic:
        return Traffic("", **dict.fromkeys(SUMS, 1))

    def number(self, array: object) -> int:
        return 0


def shown_in(
    lesson: Lesson, check: Check, function: CheckFunction, text: str, solution: Any, right: bool
) -> tuple[Run | None, list[Any]]:
    """(the first run of a check in which a wrong file's mistake shows, recipes of its arrays).

    None if it shows in none. right: take the first run at all. Raises `Unfit`.
    """
    attempt = Attempt(lesson, check, Submission(Path("wrong.py"), text.encode()), SEED)
    runs = SideBySide(module_of(text), solution, right)
    recorder: Any = Recorder(attempt, runs)  # type: ignore[arg-type]
    with suppress(Shown):
        try:
            function(recorder)
        finally:  # a check may end in an error: it is not written for counts of nothing
            runs.settle()
    return runs.shown, runs.recipes


def module_of(text: str) -> SimpleNamespace:
    """A file of ours, run. Its text can be looked up, as the simulator does."""
    file = f"<file {zlib.crc32(text.encode())}>"
    return SimpleNamespace(**loaded(text, "exercise", file))


# ---------------------------------------------------------------- the launches of one file


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value, with each that is in its tuples and lists changed."""
    if not isinstance(value, (tuple, list)):
        return change(value)
    items = [mapped(item, change) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def of_file(value: Any, file: Any) -> Any:
    return getattr(file, value.name) if isinstance(value, Student) else value


def array_of(one: Any) -> np.ndarray:
    return one.array if isinstance(one, Output) else one


def program(file: Any, function: str, arguments: Any, originals: Sequence[Any]) -> Program:
    """Call `function(*arguments, launch=...)` of a file on copies of the arrays."""
    made = Program([np.ascontiguousarray(array_of(one)).copy() for one in originals])
    copies = {id(one): copy for one, copy in zip(originals, made.arrays, strict=True)}

    def launch(kernel: Any, blocks: Any, threads: Any, *given: Any) -> None:
        grid, block = as_dim3(blocks, "grid"), as_dim3(threads, "block")
        if volume(grid) * volume(block) > MOST_THREADS or len(made.launches) >= MOST_LAUNCHES:
            raise Unfit("more threads or launches than others can run")
        told = [told_argument(value, made.arrays) for value in given]
        one = {"kernel": kernel, "grid": grid, "block": block, "shared": 0, "arguments": told}
        made.launches.append(one)
        report = checked_run(kernel, grid, block, *given, **CHECKED)
        made.found |= not report.ok

    if not hasattr(file, function):
        raise Unfit(f"a file without {function}")
    given = mapped(arguments, lambda one: copies.get(id(one), of_file(one, file)))
    try:
        with np.errstate(all="ignore"):
            getattr(file, function)(*given, launch=launch)
    except Unfit:
        raise
    except Exception:
        made.error = True
    return made


def told_argument(value: Any, arrays: Sequence[np.ndarray]) -> Any:
    """A kernel's argument as `reader.argument` reads it. Raises `Unfit`."""
    if isinstance(value, np.ndarray):
        return told_array(value, arrays)
    if isinstance(value, tuple):
        fields = list(getattr(value, "_fields", ()))
        items = [told_argument(item, arrays) for item in value]
        return {"tuple": type(value).__name__ if fields else "", "fields": fields, "items": items}
    if isinstance(value, np.generic) and np.isfinite(value):
        return {"number": value.dtype.name, "value": value.item()}
    if type(value) in (bool, int, float) and np.isfinite(value):
        return value
    raise Unfit(f"a kernel that is given a {type(value).__name__}")


def told_array(value: np.ndarray, arrays: Sequence[np.ndarray]) -> dict[str, Any]:
    for number, array in enumerate(arrays):
        if not np.may_share_memory(value, array):
            continue
        if value.shape == array.shape and value.strides == array.strides:
            return {"array": number}
        if not value.flags.c_contiguous or value.dtype != array.dtype:
            raise Unfit("a part of an array that is not contiguous")
        first = (value.ctypes.data - array.ctypes.data) // value.itemsize
        return {"array": number, "first": first, "shape": list(value.shape)}
    raise Unfit("an array that the host has made itself")
