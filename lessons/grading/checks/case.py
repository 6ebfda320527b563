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

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from lessons.course.earlier import earlier_files
from lessons.course.lesson import Check, Lesson
from lessons.grading.advice.alike_findings import without_remedies
from lessons.grading.advice.comparison import same_bits
from lessons.grading.advice.messages import (
    ENGINES,
    by_its_call,
    call_text,
    is_zero,
    lengths_of,
    lines_of_findings,
    told_error,
    without_second_barrier,
)
from lessons.grading.checks.answers import Returned
from lessons.grading.checks.argument_names import told_changed_input
from lessons.grading.checks.verdict import CheckEnded, Verdict
from lessons.grading.exchange.counts import Counts
from lessons.grading.exchange.outcome import Found
from lessons.grading.exchange.output import Output
from lessons.grading.exchange.stage_calls import StageCall
from lessons.grading.pictures.evidence import PICTURES
from lessons.grading.supervisor.worker_errors import WorkerError, WorkerStopped, WorkerTimeout
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.supervisor.worker_process import WorkerProcess
from lessons.grading.untrusted.given_code import given_function_at
from lessons.grading.untrusted.submission import Submission

ORDERS = "reverse", 1, 2  # of threads: backwards, and two that are drawn

Answer = TypeVar("Answer")
Size = TypeVar("Size")
CheckFunction = Callable[["Case"], None]


class EngineRefused(CheckEnded):
    """The native engine cannot run a kernel; which does not say that the kernel is wrong."""


def check(name: str) -> Callable[[CheckFunction], CheckFunction]:
    """Mark a test function as the check of this name in lesson.toml."""

    def mark(function: CheckFunction) -> CheckFunction:
        function.check_name = name  # type: ignore[attr-defined]  # pytest finds it there
        return function

    return mark


class Case(Verdict):
    """What a check has to do with: random inputs, outputs, the student's functions, a comparison.

    backends: the engines that have run something; this case adds its own. The rest: see
    `run.run_check`. deadline: seconds of `time.monotonic()`. only_checked: run on the checked
    simulator what is meant for the native engine; only_native: the other way round.
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
        only_native: bool = False,
    ) -> None:
        super().__init__(lesson, check, submission, seed, pictures if draw else None)
        self.workers = workers
        self.seed = seed
        self.deadline = deadline
        self.on_gpu = on_gpu
        self.draw = draw
        self.backends = backends
        self.only_checked = only_checked
        self.only_native = only_native
        self.returned_by = ""  # the function that the check has the value of
        self.has_small_input = False
        self.quick = False  # whether the simulator leaves out to ask Numba's compiler
        self.calls: list[StageCall] = []  # of stages, in the last run
        self.explain: Callable[[Found], str] = lambda found: ""  # what a check knows of its cause
        self.says_repair: Callable[[Found], bool] = lambda found: False  # whether `explain` does
        self.no_second_barrier = False  # whether another check takes points for a second one
        self.advice: dict[str, str] = {}  # words of an exception -> what they say in this check

    def size(self, large: Size, small: Size) -> Size:
        """The size of a large input, or of one that the checked simulator can manage in any case.

        The small one is taken if the native engine has to run the student's kernel, and cannot.
        """
        self.has_small_input = True
        return small if self.only_checked else large

    # ---------------------------------------------------------------- the student's functions

    def run(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """Call the student's `function(*arguments, launch=...)`; outputs then hold the results.

        engine: None for the checked simulator, "native" for what takes it too long, "large" for an
        input that may: then a launch of many rounds runs on the native engine. Ends the check if
        the simulator finds anything but advice, or if another argument was changed.
        """
        self.run_on(self.backend_of(engine), function, arguments)

    def conduct(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """As `run`, for a function that calls launch functions: the student's, and our own.

        Ends the check if the function changes an array itself: kernels compute, it only conducts.
        """
        self.run_on(self.backend_of(engine), function, arguments, conducts=True)

    def backend_of(self, engine: str | None) -> str:
        backend = "native" if self.only_native else engine or "checked"
        if self.only_checked and self.has_small_input:
            backend = "checked"
        return "cuda" if self.on_gpu else backend

    def measure(self, function: str, *arguments: object) -> Counts:
        """As `run`, always on the checked simulator. Returns how often each array was touched."""
        return self.run_on("checked", function, arguments, measure=True)

    def same_bits_in_any_order(self, function: str, *arguments: object) -> None:
        """As `run`, on the checked simulator, and then in some other orders of threads.

        Ends the check with the diagnosis "order" if any array has other bits after one of them.
        """
        self.run_on("checked", function, arguments, orders=ORDERS)

    def run_on(
        self,
        backend: str,
        function: str,
        arguments: tuple[object, ...],
        measure: bool = False,
        orders: Sequence[str | int] = (),
        conducts: bool = False,
    ) -> Counts:
        call = call_text(function, arguments)
        first = "checked" if backend == "large" else backend
        self.begin(first, f"{call} on {ENGINES[first]}")
        self.last_lengths, self.answers = lengths_of(arguments), []
        self.last_arguments = arguments
        self.has_zero = any(is_zero(argument) for argument in arguments)
        worker = self.loaded_worker()
        self.recorded_by = worker if self.draw and backend == "checked" else None
        how = backend, self.deadline, self.draw, measure, orders, conducts, not self.quick
        outcome = self.ask(lambda: worker.run(function, arguments, *how))
        self.calls = outcome.calls
        if outcome.was_native and first == "checked":
            self.note("native", f"{call} on {ENGINES['native']}")
        findings = [*outcome.findings, *(outcome.doubles if self.counts_doubles else ())]
        if conducts:  # its kernels have checks of their own
            findings = list(map(by_its_call, findings))
        if findings:
            self.fail_for_findings(findings, worker)
        for original, returned in outcome.arrays:
            if isinstance(original, Output):
                original.buffer = returned
            elif not same_bits(original, returned):
                told = told_changed_input(self.submission, function, arguments, original)
                self.fail("changed input", told)
        return outcome.counts

    def fail_for_findings(self, findings: list[Found], worker: WorkerProcess) -> NoReturn:
        if self.no_second_barrier:
            findings = list(map(without_second_barrier, findings))
        findings = without_remedies(findings, self.says_repair)
        given = self.given_functions(findings)
        # Garbage that is read may only follow from an index outside, and a race as well.
        outside_first = sorted(findings, key=lambda found: found.kind != "out-of-bounds")
        explained = [text for text in map(self.explain, outside_first) if text][:1]
        lines = lines_of_findings(findings, self.submission.lines, given, bool(explained))
        lines += explained
        lines += self.evidence.accesses(worker)
        lines += self.evidence.replay(self.recorded_by)
        self.fail(findings[0].kind, *lines)

    def given_functions(self, findings: Sequence[Found]) -> dict[int, str]:
        """line -> the given function that it is in, for those of the findings' lines that are."""
        text = "\n".join(self.submission.lines)
        lines = {found.line for found in findings if found.own}
        named = {line: given_function_at(line, text, self.lesson) for line in lines}
        return {line: name for line, name in named.items() if name}

    @property
    def counts_doubles(self) -> bool:
        """Whether computing in double precision costs this check: of each function at most one."""
        return self.check.doubles or not any(check.doubles for check in self.lesson.checks)

    def call(self, function: str, *arguments: object) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        self.begin("checked", call_text(function, arguments))
        self.was_called, self.last_arguments = True, arguments
        self.recorded_by = None
        worker = self.loaded_worker()
        result = self.ask(lambda: worker.call(function, arguments, self.deadline))
        self.returned_by = function
        self.answers.append(Returned(self.last_run, result, arguments))
        if result is None:
            sentence = f"{function} returns nothing: it should end with `return`, and the result."
            self.require(False, "nothing returned", sentence)
        return result

    def begin(self, backend: str, what: str) -> None:
        """Note what runs now, and where: a message begins with it."""
        self.was_called = self.has_zero = False
        if self.is_right:
            self.right_run, self.is_right = self.last_run, False
        self.note(backend, what)

    def note(self, backend: str, what: str) -> None:
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
            code, lines = told_error(error.kind, str(error), error.line, self.submission.lines)
            lines += [text for words, text in self.advice.items() if words in str(error)][:1]
            refused = error.kind in ("NativeRefusal", "NativeCompileError") and self.has_small_input
            ended = EngineRefused if refused else CheckEnded
            raise ended("error", code, self.last_run, *lines) from None
