"""Runs the student's functions for a check, on one of the engines; ends it for what goes wrong."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar

from lessons.course.earlier import earlier_files
from lessons.grading.explain import messages
from lessons.grading.explain.clues import changed_input, function_at, given_function_at
from lessons.grading.explain.comparison import same_bits
from lessons.grading.explain.evidence import SECONDS_TO_DRAW, Evidence
from lessons.grading.judge.result import Attempt, CheckEnded, EngineRefused
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import (
    Beside,
    WorkerError,
    WorkerProcess,
    WorkerStopped,
    WorkerTimeout,
)
from lessons.grading.worker.outcome import Counts, Found
from lessons.grading.worker.output import Output

LARGE = "large input"

Answer = TypeVar("Answer")
Size = TypeVar("Size")


class Engines(NamedTuple):
    """Where a check runs, and for how long.

    deadline: seconds of `time.monotonic()`. only_checked: run on the checked simulator what is
    meant for the native engine; only_native: the other way round. ask_numba: whether the simulator
    asks Numba's compiler as well. only_doubles: whether nothing ends a check but doubles.
    watch: keep what threads compute, and what these texts are there.
    """

    deadline: float
    on_gpu: bool = False
    only_checked: bool = False
    only_native: bool = False
    ask_numba: bool = True
    only_doubles: bool = False
    watch: Beside | None = None


class Returned(NamedTuple):
    """A call of a student's function as plain Python, and what it has returned."""

    call: str  # as a message shows it
    value: object


@dataclass
class LastRun:
    """What ran last, for those who tell of it."""

    what: str = "nothing was run"
    backend: str = ""
    arguments: tuple[object, ...] = ()
    returned_by: str = ""  # the function that the check has the value of
    answers: list[Returned] = field(default_factory=list)  # of plain calls, since the last run
    recorded_by: WorkerProcess | None = None  # if it can be replayed


class Runs:
    """backends: the engines that have run something; this adds its own."""

    def __init__(
        self,
        attempt: Attempt,
        workers: WorkerPool,
        engines: Engines,
        backends: list[str] | None = None,
    ) -> None:
        self.lesson, self.check, self.submission, _, pictures = attempt
        self.evidence = Evidence(self.lesson, self.check, pictures)
        self.draw = pictures is not None
        self.workers = workers
        self.engines = engines
        self.on_gpu, self.deadline = engines.on_gpu, engines.deadline
        self.backends = [] if backends is None else backends
        self.has_small_input = False
        self.small_only = False  # whether the check ends before its next large run
        self.calls: list[str] = []  # of stages, in the last run
        self.last = LastRun()

    def size(self, large: Size, small: Size) -> Size:
        self.has_small_input = True
        return small if self.engines.only_checked else large

    def backend_of(self, engine: str | None) -> str:
        backend = "native" if self.engines.only_native else engine or "checked"
        if self.engines.only_checked and self.has_small_input:
            backend = "checked"
        return "cuda" if self.on_gpu else backend

    def run(
        self,
        backend: str,
        function: str,
        arguments: tuple[object, ...],
        measure: bool = False,
        orders: Sequence[str | int] = (),
        conducts: bool = False,
    ) -> Counts:
        """Call the student's `function(*arguments, launch=...)`; see the words of a `Case`."""
        if self.small_only and backend != "checked":
            raise CheckEnded("failed", LARGE)
        call = messages.call_text(function, arguments)
        first = "checked" if backend == "large" else backend
        self.note(first, f"{call} on {messages.ENGINES[first]}")
        self.last.arguments, self.last.answers = arguments, []
        worker = self.loaded_worker()
        self.last.recorded_by = worker if self.draw and backend == "checked" else None
        how = self.draw, measure, orders, conducts, self.engines.ask_numba, self.engines.watch
        outcome = self.ask(lambda: worker.run(function, arguments, backend, self.deadline, *how))
        self.calls = outcome.calls
        if outcome.was_native and first == "checked":
            self.note("native", f"{call} on {messages.ENGINES['native']}")
        findings = self.that_count(outcome.findings, outcome.doubles)
        if conducts:  # its kernels have checks of their own
            findings = list(map(messages.by_its_call, findings))
        if findings:
            self.end_for(findings, worker)
        for original, returned in outcome.arrays:
            if isinstance(original, Output):
                original.buffer = returned
            elif not same_bits(original, returned):
                told = changed_input(self.submission.lines, function, arguments, original)
                raise CheckEnded("failed", "changed input", self.last.what, told)
        return outcome.counts

    def call(self, function: str, arguments: tuple[object, ...]) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        self.note("checked", messages.call_text(function, arguments))
        self.last.arguments, self.last.recorded_by = arguments, None
        worker = self.loaded_worker()
        result = self.ask(lambda: worker.call(function, arguments, self.deadline))
        self.last.returned_by = function
        self.last.answers.append(Returned(self.last.what, result))
        return result

    def note(self, backend: str, what: str) -> None:
        """Note what runs now, and where: a message begins with it."""
        self.last.what, self.last.backend = what, backend
        if backend not in self.backends:
            self.backends.append(backend)

    # ---------------------------------------------------------------- what the simulator finds

    def end_for(self, findings: list[Found], worker: WorkerProcess) -> NoReturn:
        """End the check for what the simulator has found, with the picture and the replay."""
        given = self.given_functions(findings)
        findings = [
            messages.without_atomics(one) if self.is_plain(one) else one for one in findings
        ]
        lines = messages.lines_of_findings(findings, self.submission.lines, given)
        lines += self.evidence.accesses(partial(picture_of, worker))
        lines += self.evidence.replay(partial(replay_of, self.last.recorded_by))
        raise CheckEnded("failed", findings[0].kind, self.last.what, *lines)

    def given_functions(self, findings: Sequence[Found]) -> dict[int, str]:
        """line -> the given function that it is in, for those of the findings' lines that are."""
        text = "\n".join(self.submission.lines)
        lines = {found.line for found in findings if found.own}
        named = {line: given_function_at(line, text, self.lesson) for line in lines}
        return {line: name for line, name in named.items() if name}

    def is_plain(self, found: Found) -> bool:
        """Whether a finding is about a function in which the lesson wants no atomics."""
        own = function_at(found.line, "\n".join(self.submission.lines)) if found.own else ""
        functions = [own] if own in self.lesson.blank else self.check.needs
        return not {*functions} & {*self.lesson.atomics}

    def that_count(self, findings: Sequence[Found], doubles: Sequence[Found]) -> list[Found]:
        """What ends this check. Computing in double precision costs a function at most one."""
        no_other = not any(check.doubles for check in self.lesson.checks)
        counted = doubles if self.check.doubles or no_other else ()
        return [*(() if self.engines.only_doubles else findings), *counted]

    # ---------------------------------------------------------------- the worker

    def loaded_worker(self) -> WorkerProcess:
        blank, parts = self.lesson.blank, self.lesson.parts
        hide = {part.module: [n for n in part.functions if n in blank] for part in parts}
        given = {part.module: [n for n in part.functions if n not in blank] for part in parts}
        files = self.submission, hide, self.deadline, earlier_files(self.lesson), given
        return self.ask(lambda: self.workers.with_file(*files))

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What `question()` returns; a worker's trouble becomes the end of the check."""
        what = self.last.what
        try:
            return question()
        except WorkerTimeout:
            raise CheckEnded(
                "timeout", "endless or too slow", what,
                f"not finished after {self.check.timeout:g} seconds: is there a loop that never "
                "ends, or a thread that does the work of all?",
            ) from None  # fmt: skip
        except WorkerStopped as error:
            raise CheckEnded("error", "crash", what, f"your code crashed: {error}") from None
        except WorkerError as error:
            self.workers.after_error()
            code, lines = messages.told_error(
                error.kind, str(error), error.line, self.submission.lines
            )
            refused = error.kind in ("NativeRefusal", "NativeCompileError") and self.has_small_input
            ended = EngineRefused if refused else CheckEnded
            raise ended("error", code, what, *lines) from None


def picture_of(worker: WorkerProcess) -> bytes:
    """The picture of a run with findings; empty if there is none."""
    try:
        return worker.picture(time.monotonic() + SECONDS_TO_DRAW)
    except (WorkerError, WorkerStopped, WorkerTimeout):
        return b""  # the check has failed anyway


def replay_of(worker: WorkerProcess | None) -> str:
    """The data of the last run's replay; "" if it has none."""
    if worker is None or not worker.alive:
        return ""
    return worker.replay(time.monotonic() + SECONDS_TO_DRAW)
