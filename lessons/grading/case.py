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

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lessons.course.earlier import earlier_files
from lessons.course.lesson import Check, Lesson
from lessons.grading.comparison import Clues, Threads, differing, first_wrong, same_bits
from lessons.grading.counts import Counts
from lessons.grading.diagnosis import Candidates, diagnose
from lessons.grading.evidence import PICTURES, Evidence
from lessons.grading.inputs import Inputs
from lessons.grading.messages import call_text, lines_of_findings, quoted
from lessons.grading.outcome import Found
from lessons.grading.output import Output, sentinel_of
from lessons.grading.replay import replay_of_wrong
from lessons.grading.stage_calls import StageCall
from lessons.grading.submission import Submission, adds_to_elements, own_launch
from lessons.grading.worker_pool import WorkerPool
from lessons.grading.worker_process import (
    WorkerError,
    WorkerProcess,
    WorkerStopped,
    WorkerTimeout,
)

ENGINES = {"checked": "the checked simulator", "native": "the native engine", "cuda": "the GPU"}
KNOWN_ERRORS = {
    "NativeCompileError": "compile", "NativeRefusal": "compile", "NoKernel": "no kernel",
    "NoBlocks": "grid rounded down", "InputError": "InputError",
    "LaunchForgotten": "launch forgotten", "WrongArray": "wrong array",
}  # fmt: skip
# Exceptions of the grader: their text says it all.
OURS = "NoKernel", "NoBlocks", "InputError", "LaunchForgotten", "WrongArray"

Answer = TypeVar("Answer")
Size = TypeVar("Size")
CheckFunction = Callable[["Case"], None]


class CheckEnded(Exception):
    """A check is decided, and not passed."""

    def __init__(self, status: str, diagnosis: str, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.diagnosis = diagnosis


class EngineRefused(CheckEnded):
    """The native engine cannot run a kernel; which does not say that the kernel is wrong."""


def check(name: str) -> Callable[[CheckFunction], CheckFunction]:
    """Mark a test function as the check of this name in lesson.toml."""

    def mark(function: CheckFunction) -> CheckFunction:
        function.check_name = name  # type: ignore[attr-defined]  # pytest finds it there
        return function

    return mark


class Case(Inputs):
    """What a check has to do with: random inputs, outputs, the student's functions, a comparison.

    backends: the engines that have run something; this case adds its own. The rest: see
    `run.run_check`. deadline: seconds of `time.monotonic()`. only_checked: run on the checked
    simulator what is meant for the native engine.
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
        only_checked: bool = False,
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
        self.only_checked = only_checked
        self.has_small_input = False
        self.evidence = Evidence(lesson, check, pictures if draw else None)
        self.notes: list[str] = []  # how a check that passes compares with ours
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        super().__init__([seed, zlib.crc32(f"{lesson.name} {check.name}".encode())])
        self.last_run, self.last_backend = "nothing was run", ""
        self.calls: list[StageCall] = []  # of stages, in the last run
        self.explain: Callable[[Found], str] = lambda found: ""  # what a check knows of its cause
        self.recorded_by: WorkerProcess | None = None  # the last run, if it can be replayed

    def size(self, native: Size, checked: Size) -> Size:
        """A size for the native engine, or one that the checked simulator can manage in time.

        The second is taken if the native engine cannot run the student's kernel.
        """
        self.has_small_input = True
        return checked if self.only_checked else native

    # ---------------------------------------------------------------- the student's functions

    def run(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """Call the student's `function(*arguments, launch=...)`; outputs then hold the results.

        engine: None for the checked simulator, "native" for an input that is too large for it. Ends
        the check if the simulator finds anything but advice, or if another argument was changed.
        """
        backend = engine or "checked"
        if self.only_checked and self.has_small_input:
            backend = "checked"
        self.run_on("cuda" if self.on_gpu else backend, function, arguments)

    def measure(self, function: str, *arguments: object) -> Counts:
        """As `run`, always on the checked simulator. Returns how often each array was touched."""
        return self.run_on("checked", function, arguments, measure=True)

    def run_on(
        self,
        backend: str,
        function: str,
        arguments: tuple[object, ...],
        measure: bool = False,
    ) -> Counts:
        self.begin(backend, f"{call_text(function, arguments)} on {ENGINES[backend]}")
        worker = self.loaded_worker()
        self.recorded_by = worker if self.draw and backend == "checked" else None
        outcome = self.ask(
            lambda: worker.run(function, arguments, backend, self.deadline, self.draw, measure)
        )
        self.calls = outcome.calls
        findings = [*outcome.findings, *(outcome.doubles if self.counts_doubles else ())]
        if findings:
            self.fail_for_findings(findings, worker)
        for original, returned in outcome.arrays:
            if isinstance(original, Output):
                original.buffer = returned
            elif not same_bits(original, returned):
                shape = original.shape
                self.fail(
                    "changed input",
                    f"an input was changed, the array of shape {shape}: inputs are only read",
                )
        return outcome.counts

    def fail_for_findings(self, findings: list[Found], worker: WorkerProcess) -> NoReturn:
        lines = lines_of_findings(findings, self.submission.lines)
        lines += [text for text in map(self.explain, findings) if text][:1]
        lines += self.evidence.accesses(worker)
        lines += self.evidence.replay(self.recorded_by)
        self.fail(findings[0].kind, *lines)

    @property
    def counts_doubles(self) -> bool:
        """Whether computing in double precision costs this check: in each lesson at most one."""
        return self.check.doubles or not any(check.doubles for check in self.lesson.checks)

    def call(self, function: str, *arguments: object) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        self.begin("checked", call_text(function, arguments))
        self.recorded_by = None
        worker = self.loaded_worker()
        result = self.ask(lambda: worker.call(function, arguments, self.deadline))
        if result is None:
            sentence = f"{function} returns nothing: it should end with `return`, and the result."
            self.require(False, "nothing returned", sentence)
        return result

    def begin(self, backend: str, what: str) -> None:
        """Note what runs now, and where: a message begins with it."""
        self.last_run, self.last_backend = what, backend
        if backend not in self.backends:
            self.backends.append(backend)

    def loaded_worker(self) -> WorkerProcess:
        blank, parts = self.lesson.blank, self.lesson.parts
        hide = {part.module: [n for n in part.functions if n in blank] for part in parts}
        given = {part.module: [n for n in part.functions if n not in blank] for part in parts}
        files = self.submission, hide, self.deadline, earlier_files(self.lesson), given
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
            kind = "" if error.kind in OURS else f"{error.kind}: "
            code = KNOWN_ERRORS.get(error.kind, error.kind)
            lines = [f"{where}{kind}{error}", *quoted(error.line, self.submission.lines)]
            refused = error.kind in ("NativeRefusal", "NativeCompileError") and self.has_small_input
            ended = EngineRefused if refused else CheckEnded
            raise ended("error", code, self.last_run, *lines) from None

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
        diagnosis = diagnose(
            expected, values, sentinel, tolerance, threads, candidates, intact, self.clues()
        )
        lines = []
        if wrong.any():
            lines.append(
                f"{int(wrong.sum()):,} of {wrong.size:,} elements of {name} are wrong "
                f"(allowed: {tolerance:.2g}; {self.check.tolerance_reason})"
            )
            found = first_wrong(name, expected, values, tolerance, threads, sentinel=sentinel)
            lines += ["  " + line for line in found]
        lines.append(f"{diagnosis.code}: {diagnosis.sentence}")
        lines += self.evidence.picture(name, expected, values, sentinel, tolerance, threads)
        sentence = diagnosis.sentence
        lines += self.evidence.replay(
            self.recorded_by, lambda data: replay_of_wrong(data, name, wrong, sentence)
        )
        self.fail(diagnosis.code, *lines)

    def clues(self) -> Clues:
        text = "\n".join(self.submission.lines)
        seen = self.last_backend == "checked"  # where a race is a finding of its own
        return Clues(own_launch(text, self.lesson), not seen and adds_to_elements(text))

    def budget(
        self,
        what: str,
        yours: float,
        ours: float,
        allowed: float,
        diagnosis: str,
        sentence: str,
        line: int = 0,
    ) -> None:
        """End the check with this diagnosis if `yours` is more than `allowed`.

        what: what was counted, such as "reads of global memory per product". ours: what the idea
        of the lesson needs; after a pass the student sees both. allowed: leaves room for other ways
        that are as good. line: the line of the student's file with most of it; see
        `Counts.busiest_line`.
        """
        figures = f"{what}: yours {yours:.4g}, ours {ours:.4g}"
        if yours > allowed:
            self.fail(
                diagnosis, f"{diagnosis}: {sentence}", f"{figures} (allowed: {allowed:.4g})",
                *quoted(line, self.submission.lines),
            )  # fmt: skip
        self.notes.append(figures)

    def require(self, ok: bool, diagnosis: str, sentence: str) -> None:
        """End the check with this diagnosis unless `ok`: for a property, not a value."""
        if not ok:
            self.fail(diagnosis, f"{diagnosis}: {sentence}")

    def require_many_threads(self, counts: Counts, result: Output) -> None:
        """End the check if one thread has written all of a result, or each thread has."""
        written = counts.of(result)
        self.require(
            written.writes < 64 or 2 * written.requests <= written.writes,
            "one thread for all",
            "one thread does the work of many: there is a loop over what the threads of the grid "
            "should share, so the others have nothing to do.",
        )
        times = written.writes / max(1, result.array.size)
        self.require(
            times <= 16,
            "same work again",
            f"each element is written {times:.0f} times: several threads do the same work. A "
            "thread should write what belongs to it, and no more.",
        )

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

    def fail(self, diagnosis: str, *lines: str) -> NoReturn:
        raise CheckEnded("failed", diagnosis, self.last_run, *lines)
