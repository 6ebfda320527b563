"""Grading: what a check of a lesson is written with, and how its result comes about.

    @check("every_pixel")
    def test_every_pixel(case):
        image = case.random((9, 14, 3))
        gray = case.output((9, 14))
        case.run("launch_over_pixels", case.student("grayscale"), image, gray)
        case.expect(gray, reference.grayscale(image), name="gray")

The function of a check runs here, in the judge. `case.run` and `case.call` run the student's
functions in a worker; `case.expect` compares what came back with what the judge has computed. The
function is run once with the lab's engines, and where there is a GPU, once more on that, with the
same random numbers.
"""

import importlib.util
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.errors import InputError
from lessons.course.exercises import unwritten
from lessons.course.lesson import ROOT
from lessons.grading.diagnosis import diagnose, first_wrong
from lessons.grading.picture import draw_check
from lessons.grading.protocol import Student
from lessons.grading.worker_process import Worker, WorkerError, WorkerStopped, WorkerTimeout

GUARD = 64  # elements on both sides of an output that nobody may touch
FLOAT_SENTINEL, INTEGER_SENTINEL = -7777.25, -7777
MAX_PRINTED_LINES = 3
PICTURES = ROOT / "runs" / "lessons"
PLACES = {"checked": "the checked simulator", "native": "the native engine", "cuda": "the GPU"}


class Result(NamedTuple):
    """The outcome of one check; also a row of the grade report (see lessons/GRADING.md)."""

    lesson: str
    check: str
    score: int
    max_score: int
    status: str  # passed, failed, error, timeout or skipped
    message: str
    diagnosis: str  # a word or two that name the mistake, "" if it passed
    backend: str  # engines that ran it, joined by "+"
    device: str
    seconds: float


class Submission(NamedTuple):
    """A student's file for one lesson."""

    path: Path
    text: bytes  # None: there is no such file

    @staticmethod
    def read(path):
        try:
            return Submission(path, path.read_bytes())
        except OSError:
            return Submission(path, None)


class CheckEnded(Exception):
    """A check is decided, and not passed."""

    def __init__(self, status, diagnosis, *lines):
        super().__init__("\n".join(lines))
        self.status = status
        self.diagnosis = diagnosis


def check(name):
    """Mark a test function as the check of this name in lesson.toml."""

    def mark(function):
        function.check_name = name
        return function

    return mark


def checks_of(lesson):
    """name -> function, from the test file of a `Lesson`."""
    (path,) = lesson.folder.glob("test_*.py")
    specification = importlib.util.spec_from_file_location(f"checks_{lesson.name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return {
        function.check_name: function
        for function in vars(module).values()
        if hasattr(function, "check_name")
    }


# ---------------------------------------------------------------- workers


class Workers:
    """Hands out a worker that has a certain file loaded; the one there is, or else a new one.

    trusted: keep the process when another file is loaded or an error was raised. That is fast, and
    only right for files of our own.
    """

    def __init__(self, trusted=False):
        self.trusted = trusted
        self.worker = None
        self.loaded = None
        self.endless = None  # a file that did not finish loading in time: it will not do so again
        self.about = None  # (no_gpu, device), the same for all

    def describe(self):
        """(reason why there is no GPU or None, name of the device)."""
        if self.about is None:
            self.fresh()
        return self.about

    def fresh(self):
        self.stop()
        self.worker = Worker()
        self.about = self.worker.no_gpu, self.worker.device

    def ready(self):
        """Make sure that there is a live worker; its start is not part of a check's time."""
        if self.worker is None or not self.worker.alive:
            self.fresh()

    def with_file(self, submission, hide, deadline):
        if self.loaded != submission:
            if self.loaded is not None and not self.trusted:
                self.fresh()
            if submission == self.endless:
                raise WorkerTimeout
            try:
                self.worker.load(submission.text, hide, deadline)
            except WorkerTimeout:
                self.endless = submission
                raise
            self.loaded = submission
        return self.worker

    def after_error(self):
        if not self.trusted:
            self.stop()

    def stop(self):
        if self.worker is not None:
            self.worker.stop()
        self.loaded = None

    def printed(self):
        return self.worker.printed() if self.worker else ""


# ---------------------------------------------------------------- a case


class Output:
    """An array for a student's function to fill, with sentinels in it and guards around it."""

    def __init__(self, shape, dtype, initial):
        self.guard = GUARD
        self.shape = tuple(shape)
        self.sentinel = sentinel_of(np.dtype(dtype))
        size = int(np.prod(self.shape))
        self.buffer = np.full(size + 2 * GUARD, self.sentinel, dtype)
        if initial is not None:
            self.buffer[GUARD : GUARD + size] = np.ravel(initial)

    @property
    def array(self):
        return self.buffer[GUARD : len(self.buffer) - GUARD].reshape(self.shape)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype)

    @property
    def guards_intact(self):
        edges = np.concatenate([self.buffer[:GUARD], self.buffer[-GUARD:]])
        return bool((edges == self.sentinel).all())


def sentinel_of(dtype):
    return FLOAT_SENTINEL if dtype.kind == "f" else INTEGER_SENTINEL


class Case:
    """What a check has to do with: random inputs, outputs, the student's functions, a comparison."""

    def __init__(self, lesson, check, submission, workers, seed, deadline, on_gpu, draw):
        self.lesson = lesson
        self.check = check
        self.submission = submission
        self.workers = workers
        self.deadline = deadline
        self.on_gpu = on_gpu
        self.draw = draw
        self.seed = seed
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        self.rng = np.random.default_rng([seed, zlib.crc32(f"{lesson.name} {check.name}".encode())])
        self.backends = []
        self.last_run = "nothing was run"

    def random(self, shape, low=0.0, high=1.0, dtype=np.float32):
        """An array of uniform random numbers in [low, high)."""
        return self.rng.uniform(low, high, shape).astype(dtype)

    def output(self, shape, dtype=np.float32, initial=None):
        """An `Output`: full of sentinels, or holding a copy of `initial`."""
        return Output(shape, dtype, initial)

    def student(self, name):
        """Stands for the function `name` of the student's file, as an argument."""
        return Student(name)

    def run(self, function, *arguments, engine=None):
        """Call the student's `function(*arguments, launch=...)`; outputs then hold the results.

        engine: None for the checked simulator, "native" for an input that is too large for it. Ends
        the check if the simulator finds anything but advice, or if another argument was changed.
        """
        backend = "cuda" if self.on_gpu else engine or "checked"
        self.note_backend(backend)
        self.last_run = f"{function}({', '.join(map(brief, arguments))}) on {PLACES[backend]}"
        worker = self.loaded_worker()
        findings, arrays = self.ask(
            lambda: worker.run(function, arguments, backend, Output, self.deadline)
        )
        if findings:
            kind, line, message = findings[0]
            self.fail(kind, f"line {line}: {kind}: {message}")
        for original, returned in arrays:
            if isinstance(original, Output):
                original.buffer = returned
            elif not same_bits(original, returned):
                shape = original.shape
                self.fail("changed input", f"an input was changed: the array of shape {shape}")

    def call(self, function, *arguments):
        """The value of the student's `function(*arguments)`, called as plain Python."""
        self.note_backend("checked")
        self.last_run = f"{function}({', '.join(map(brief, arguments))})"
        worker = self.loaded_worker()
        return self.ask(lambda: worker.call(function, arguments, self.deadline))

    def expect(self, got, expected, name="result", threads=None, tolerance=None, candidates=None):
        """End the check, with feedback, unless `got` is near `expected`.

        got: an `Output`, an array or a number. tolerance: absolute; None for that of lesson.toml,
        times the largest expected magnitude if that is over 1. threads: which thread owns which
        element, and candidates: results of known mistakes, see `diagnosis.diagnose`.
        """
        intact = got.guards_intact if isinstance(got, Output) else True
        expected = np.asarray(expected)
        values = self.as_array(got, expected, name)
        if tolerance is None:
            largest = np.abs(expected).max(initial=0.0) if expected.dtype.kind in "fiu" else 0.0
            tolerance = self.check.tolerance * max(1.0, float(largest))
        sentinel = sentinel_of(values.dtype)
        wrong = differing(values, expected, tolerance)
        if not wrong.any() and intact:
            return
        diagnosis = diagnose(
            expected, values, sentinel, tolerance,
            threads=threads, candidates=candidates, guards_intact=intact,
        )  # fmt: skip
        lines = []
        if wrong.any():
            lines.append(
                f"{int(wrong.sum()):,} of {wrong.size:,} elements of {name} are wrong "
                f"(allowed: {tolerance:.2g}; {self.check.tolerance_reason})"
            )
            found = first_wrong(name, expected, values, tolerance, threads, sentinel=sentinel)
            lines += ["  " + line for line in found]
        lines.append(f"{diagnosis.code}: {diagnosis.sentence}")
        lines += self.picture(name, expected, values, sentinel, tolerance, threads)
        self.fail(diagnosis.code, *lines)

    def require(self, ok, diagnosis, sentence):
        """End the check with this diagnosis unless `ok`: for a property, where no value is known."""
        if not ok:
            self.fail(diagnosis, f"{diagnosis}: {sentence}")

    def as_array(self, got, expected, name):
        try:
            values = got.array if isinstance(got, Output) else np.asarray(got)
        except ValueError:
            values = np.asarray(None)
        if values.dtype.kind not in "fiub":
            self.fail("wrong type", f"{name} is not made of numbers")
        if values.shape != expected.shape:
            self.fail("wrong shape", f"{name} has the shape {values.shape}, not {expected.shape}")
        return values

    def picture(self, name, expected, values, sentinel, tolerance, threads):
        """Draw expected, got and error. Returns the line that says where, if it worked."""
        if not self.draw:
            return []
        path = PICTURES / self.lesson.name[:2] / f"{self.check.name}.png"
        title = f"{self.lesson.name}, {self.check.name}: {name}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draw_check(name, expected, values, sentinel, tolerance, path, title, threads=threads)
        except (InputError, OSError):
            return []
        return [f"picture: {path.relative_to(ROOT)}"]

    def fail(self, diagnosis, *lines):
        raise CheckEnded("failed", diagnosis, self.last_run, *lines)

    def note_backend(self, backend):
        if backend not in self.backends:
            self.backends.append(backend)

    def loaded_worker(self):
        hide = {
            part.file.removesuffix(".py").replace("/", "."): [
                name for name in part.functions if name in self.lesson.blank
            ]
            for part in self.lesson.parts
        }
        return self.ask(lambda: self.workers.with_file(self.submission, hide, self.deadline))

    def ask(self, question):
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


KNOWN_ERRORS = {"NativeCompileError": "compile", "NativeRefusal": "compile"}


def differing(got, expected, tolerance):
    """Where two arrays differ by more than `tolerance`; NaN differs from everything."""
    if got.dtype.kind in "iub" and expected.dtype.kind in "iub":
        return got != expected
    with np.errstate(invalid="ignore", over="ignore"):
        return ~(np.abs(got.astype(np.float64) - expected) <= tolerance)


def same_bits(first, second):
    return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()


def brief(argument):
    if isinstance(argument, Student):
        return argument.name
    if isinstance(argument, (Output, np.ndarray)):
        return f"array {argument.shape}"
    if isinstance(argument, (float, np.floating)):
        return f"{argument:.4g}"
    text = str(argument)
    return text if len(text) <= 24 else type(argument).__name__


# ---------------------------------------------------------------- a check


def run_check(function, lesson, check, submission, workers, seed, patience=1.0, draw=True):
    """Run one check on one submission and return its `Result`.

    function: from `checks_of`. workers: a `Workers`. seed: int, decides all random inputs.
    patience: factor for the time limit, for slow machines. draw: write a picture of a failure.
    """
    started = time.monotonic()
    case = None
    device = ""
    try:
        refuse_unwritten(submission, check)
        no_gpu, device = workers.describe()
        if check.gpu and no_gpu:
            raise CheckEnded("skipped", "no GPU", f"this check needs a GPU, but {no_gpu}")
        passes = [False] if no_gpu else [False, True]
        for on_gpu in passes:
            workers.ready()
            deadline = time.monotonic() + check.timeout * patience
            previous = case
            case = Case(lesson, check, submission, workers, seed, deadline, on_gpu, draw)
            if previous:
                case.backends = previous.backends
            function(case)
        status, message, diagnosis = "passed", "", ""
    except CheckEnded as ended:
        status, message, diagnosis = ended.status, str(ended), ended.diagnosis
    if message and case:
        message = "\n".join([message, *printed(workers), next_step(lesson, status)])
    return Result(
        lesson.name,
        check.name,
        check.points if status == "passed" else 0,
        check.points,
        status,
        message,
        diagnosis,
        "+".join(case.backends) if case else "",
        device if case else "",
        round(time.monotonic() - started, 3),
    )


def refuse_unwritten(submission, check):
    if submission.text is None:
        raise CheckEnded("failed", "no file", f"there is no file {submission.path}")
    missing = unwritten(submission.text.decode("utf-8", "replace"), check.needs)
    if missing:
        raise CheckEnded("failed", "not written", f"not written yet: {', '.join(missing)}")


def printed(workers):
    """The first lines that the student's file has printed."""
    lines = [line[:100] for line in workers.printed().splitlines() if line.strip()]
    return [f"printed: {line}" for line in lines[:MAX_PRINTED_LINES]]


def next_step(lesson, status):
    if status == "skipped":
        return ""
    return f"stuck? python -m lessons hint {lesson.number}"
