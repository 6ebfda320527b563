"""What a check of a lesson is written with.

    @check("every_pixel")
    def test_every_pixel(case):
        image = case.random((9, 14, 3))
        gray = case.output((9, 14))
        case.run("launch_over_pixels", case.student("grayscale"), image, gray)
        case.expect(gray, reference.grayscale(image), name="gray")

The function of a check runs here, in the judge. `case.run` and `case.call` run the student's
functions in a worker; `case.expect` compares what came back with what the judge has computed.
"""

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from kernels.errors import InputError
from kernels.files.atomic import write_atomically
from lessons.course.earlier import earlier_files
from lessons.course.lesson import ROOT, Check, Lesson
from lessons.grading.comparison import Threads, differing, first_wrong, same_bits
from lessons.grading.diagnosis import Candidates, diagnose
from lessons.grading.output import Output, sentinel_of
from lessons.grading.picture import draw_check
from lessons.grading.protocol import Student
from lessons.grading.replay import replay_of_wrong
from lessons.grading.submission import Submission
from lessons.grading.worker_pool import WorkerPool
from lessons.grading.worker_process import (
    WorkerError,
    WorkerProcess,
    WorkerStopped,
    WorkerTimeout,
)
from lessons.lab.simulator.replay.page import write_replay

SECONDS_TO_DRAW = 20
PICTURES = ROOT / "runs" / "lessons"
ENGINES = {"checked": "the checked simulator", "native": "the native engine", "cuda": "the GPU"}
KNOWN_ERRORS = {"NativeCompileError": "compile", "NativeRefusal": "compile"}

Answer = TypeVar("Answer")
CheckFunction = Callable[["Case"], None]


class CheckEnded(Exception):
    """A check is decided, and not passed."""

    def __init__(self, status: str, diagnosis: str, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.diagnosis = diagnosis


def check(name: str) -> Callable[[CheckFunction], CheckFunction]:
    """Mark a test function as the check of this name in lesson.toml."""

    def mark(function: CheckFunction) -> CheckFunction:
        function.check_name = name  # type: ignore[attr-defined]  # pytest finds it there
        return function

    return mark


class Case:
    """What a check has to do with: random inputs, outputs, the student's functions, a comparison.

    backends: the engines that have run something; this case adds its own. The rest: see
    `run.run_check`. deadline: seconds of `time.monotonic()`.
    """

    def __init__(
        self,
        lesson: Lesson,
        check: Check,
        submission: Submission,
        workers: WorkerPool,
        seed: int,
        deadline: float,
        on_gpu: bool,
        draw: bool,
        backends: list[str],
        pictures: Path = PICTURES,
    ) -> None:
        self.lesson = lesson
        self.check = check
        self.submission = submission
        self.workers = workers
        self.seed = seed
        self.deadline = deadline
        self.on_gpu = on_gpu
        self.draw = draw
        self.backends = backends
        self.pictures = pictures
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        self.rng = np.random.default_rng([seed, zlib.crc32(f"{lesson.name} {check.name}".encode())])
        self.last_run = "nothing was run"
        self.recorded_by: WorkerProcess | None = None  # the last run, if it can be replayed

    # ---------------------------------------------------------------- inputs and outputs

    def random(
        self,
        shape: int | tuple[int, ...],
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike = np.float32,
    ) -> np.ndarray:
        """An array of uniform random numbers in [low, high)."""
        return self.rng.uniform(low, high, shape).astype(dtype)

    def output(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike = np.float32,
        initial: np.ndarray | None = None,
    ) -> Output:
        """An `Output`: full of sentinels, or holding a copy of `initial`."""
        return Output(shape, dtype, initial)

    def student(self, name: str) -> Student:
        """Stands for the function `name` of the student's file, as an argument."""
        return Student(name)

    # ---------------------------------------------------------------- the student's functions

    def run(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """Call the student's `function(*arguments, launch=...)`; outputs then hold the results.

        engine: None for the checked simulator, "native" for an input that is too large for it. Ends
        the check if the simulator finds anything but advice, or if another argument was changed.
        """
        backend = "cuda" if self.on_gpu else engine or "checked"
        self.begin(backend, f"{call_text(function, arguments)} on {ENGINES[backend]}")
        worker = self.loaded_worker()
        self.recorded_by = worker if self.draw and backend == "checked" else None
        findings, arrays = self.ask(
            lambda: worker.run(function, arguments, backend, self.deadline, record=self.draw)
        )
        if findings:
            kind, line, message = findings[0]
            pictures = self.draw_accesses(worker)
            pictures += self.write_replay()
            self.fail(kind, f"line {line}: {kind}: {message}", *pictures)
        for original, returned in arrays:
            if isinstance(original, Output):
                original.buffer = returned
            elif not same_bits(original, returned):
                shape = original.shape
                self.fail("changed input", f"an input was changed: the array of shape {shape}")

    def call(self, function: str, *arguments: object) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        self.begin("checked", call_text(function, arguments))
        self.recorded_by = None
        worker = self.loaded_worker()
        return self.ask(lambda: worker.call(function, arguments, self.deadline))

    def begin(self, backend: str, what: str) -> None:
        """Note what runs now, and where: a message begins with it."""
        self.last_run = what
        if backend not in self.backends:
            self.backends.append(backend)

    def loaded_worker(self) -> WorkerProcess:
        hide = {
            part.module: [name for name in part.functions if name in self.lesson.blank]
            for part in self.lesson.parts
        }
        files = self.submission, hide, self.deadline, earlier_files(self.lesson)
        return self.ask(lambda: self.workers.with_file(*files))

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What `question()` returns; a worker's trouble becomes the end of the check."""
        try:
            return question()
        except WorkerTimeout:
            raise CheckEnded(
                "timeout",
                "endless or too slow",
                self.last_run,
                f"not finished after {self.check.timeout:g} seconds: is there a loop that never "
                "ends, or a thread that does the work of all?",
            ) from None
        except WorkerStopped as error:
            raise CheckEnded(
                "error", "crash", self.last_run, f"your code crashed: {error}"
            ) from None
        except WorkerError as error:
            self.workers.after_error()
            where = f"exercise.py, line {error.line}: " if error.line else ""
            kind = "" if error.kind == "InputError" else f"{error.kind}: "
            code = KNOWN_ERRORS.get(error.kind, error.kind)
            raise CheckEnded("error", code, self.last_run, f"{where}{kind}{error}") from None

    # ---------------------------------------------------------------- the verdict

    def expect(
        self,
        got: object,
        expected: ArrayLike,
        name: str = "result",
        threads: Threads | None = None,
        tolerance: float | None = None,
        candidates: Candidates | None = None,
    ) -> None:
        """End the check, with feedback, unless `got` is near `expected`.

        got: an `Output`, an array or a number. tolerance: absolute; None for that of lesson.toml,
        times the largest expected magnitude if that is over 1. threads: which thread owns which
        element, and candidates: results of known mistakes, see `diagnosis.diagnose`.
        """
        intact = got.guards_intact if isinstance(got, Output) else True
        expected = np.asarray(expected)
        values = self.as_array(got, expected, name)
        if tolerance is None:
            tolerance = self.usual_tolerance(expected)
        wrong = differing(values, expected, tolerance)
        if not wrong.any() and intact:
            return
        sentinel = sentinel_of(values.dtype)
        diagnosis = diagnose(expected, values, sentinel, tolerance, threads, candidates, intact)
        lines = []
        if wrong.any():
            lines.append(
                f"{int(wrong.sum()):,} of {wrong.size:,} elements of {name} are wrong "
                f"(allowed: {tolerance:.2g}; {self.check.tolerance_reason})"
            )
            found = first_wrong(name, expected, values, tolerance, threads, sentinel=sentinel)
            lines += ["  " + line for line in found]
        lines.append(f"{diagnosis.code}: {diagnosis.sentence}")
        lines += self.draw_picture(name, expected, values, sentinel, tolerance, threads)
        sentence = diagnosis.sentence
        lines += self.write_replay(lambda data: replay_of_wrong(data, name, wrong, sentence))
        self.fail(diagnosis.code, *lines)

    def require(self, ok: bool, diagnosis: str, sentence: str) -> None:
        """End the check with this diagnosis unless `ok`: for a property, not a value."""
        if not ok:
            self.fail(diagnosis, f"{diagnosis}: {sentence}")

    def usual_tolerance(self, expected: np.ndarray) -> float:
        largest = np.abs(expected).max(initial=0.0) if expected.dtype.kind in "fiu" else 0.0
        return self.check.tolerance * max(1.0, float(largest))

    def as_array(self, got: object, expected: np.ndarray, name: str) -> np.ndarray:
        """`got` as an array of numbers, of the expected shape; or the end of the check."""
        try:
            values = got.array if isinstance(got, Output) else np.asarray(got)
        except ValueError:
            values = np.asarray(None)
        if values.dtype.kind not in "fiub":
            self.fail("wrong type", f"{name} is not made of numbers")
        if values.shape != expected.shape:
            self.fail("wrong shape", f"{name} has the shape {values.shape}, not {expected.shape}")
        return values

    def draw_picture(
        self,
        name: str,
        expected: np.ndarray,
        got: np.ndarray,
        sentinel: float,
        tolerance: float,
        threads: Threads | None,
    ) -> list[str]:
        """Draw expected, got and error. Returns the line that says where, if it worked."""
        title = f"{self.lesson.name}, {self.check.name}: {name}"
        return self.write_beside(
            "picture.png",
            lambda path: draw_check(
                name, expected, got, sentinel, tolerance, path, title, threads=threads
            ),
        )

    def draw_accesses(self, worker: WorkerProcess) -> list[str]:
        """The picture of a run with findings, in which there is no result to compare.

        It shows who touched which element, and in red what is wrong. Returns as `draw_picture`.
        """
        if not self.draw:
            return []
        try:
            picture = worker.picture(time.monotonic() + SECONDS_TO_DRAW)
        except (WorkerError, WorkerStopped, WorkerTimeout):
            return []  # the check has failed anyway
        if not picture:
            return []
        return self.write_beside(
            "picture.png", lambda path: write_atomically(path, lambda file: file.write(picture))
        )

    def write_replay(self, annotate: Callable[[str], str] = str) -> list[str]:
        """Write the last run as a page, if it was recorded. Returns as `draw_picture`.

        annotate: adds to the worker's data, and raises `ValueError` if these are none.
        """
        worker = self.recorded_by
        if worker is None or not worker.alive:
            return []
        try:
            data = worker.replay(time.monotonic() + SECONDS_TO_DRAW)
            page = annotate(data) if data else ""
            return self.write_beside("replay.html", lambda path: write_replay(path, page))
        except (WorkerError, WorkerStopped, WorkerTimeout, ValueError, RecursionError):
            return []  # the check has failed anyway

    def write_beside(self, what: str, write: Callable[[Path], None]) -> list[str]:
        """Write "picture.png" or "replay.html". Returns the line that says where, if it worked."""
        kind, suffix = what.split(".")
        if not self.draw:
            return []
        path = picture_path(self.pictures, self.lesson, self.check).with_suffix(f".{suffix}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
        except (InputError, OSError):
            return []
        return [f"{kind}: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}"]

    def fail(self, diagnosis: str, *lines: str) -> NoReturn:
        raise CheckEnded("failed", diagnosis, self.last_run, *lines)


def picture_path(folder: Path, lesson: Lesson, check: Check) -> Path:
    """Where the picture of a failed check goes."""
    return folder / lesson.name[:2] / f"{check.name}.png"


def call_text(function: str, arguments: tuple[object, ...]) -> str:
    return f"{function}({', '.join(map(brief, arguments))})"


def brief(argument: object) -> str:
    """An argument as a message shows it."""
    if isinstance(argument, Student):
        return argument.name
    if isinstance(argument, (Output, np.ndarray)):
        return f"array {argument.shape}"
    if isinstance(argument, (float, np.floating)):
        return f"{argument:.4g}"
    text = str(argument)
    return text if len(text) <= 24 else type(argument).__name__
