"""Run a check on a student's file, and say what came of it.

A check runs once with the lab's engines, and where there is a GPU, once more on that, with the same
random numbers.
"""

import importlib.util
import os
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lessons.course.earlier import earlier_files
from lessons.course.exercises import solution_text, unwritten
from lessons.course.lesson import Check, Lesson
from lessons.course.source_text import MOST_NODES, is_too_long
from lessons.grading.explain.evidence import PICTURES
from lessons.grading.judge import in_place, waiting
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.changed_texts import OF_DOUBLES
from lessons.grading.judge.explain_failure import (
    FULL_EFFORT,
    NO_EFFORT,
    Effort,
    Failure,
    lines_on_slip,
)
from lessons.grading.judge.recorded import known_mistake
from lessons.grading.judge.result import (
    LEFT_OUT,
    NOT_UNDERSTOOD,
    Attempt,
    CheckEnded,
    EngineRefused,
    Result,
    WrongNumbers,
)
from lessons.grading.judge.runs import Engines, Runs
from lessons.grading.judge.verdict import NoNumbers, Verdict
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.text import printable
from lessons.mutations.generated import LEAVES

MAX_PRINTED_LINES = 3
# What Python and NumPy raise for values of another kind than was expected.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
PATIENCE = 100.0  # our own solutions are not in a hurry


def checks_of(lesson: Lesson) -> dict[str, CheckFunction]:
    """name -> function, from the test file of a `Lesson`."""
    (path,) = lesson.folder.glob("test_*.py")
    specification = importlib.util.spec_from_file_location(f"checks_{lesson.name}", path)
    assert specification and specification.loader, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return {
        function.check_name: function
        for function in vars(module).values()
        if hasattr(function, "check_name")
    }


def run_check(
    function: CheckFunction,
    lesson: Lesson,
    check: Check,
    submission: Submission,
    workers: WorkerPool,
    seed: int,
    patience: float = 1.0,
    draw: bool = True,
    pictures: Path = PICTURES,
    before: Sequence[Result] = (),
    effort: Effort = FULL_EFFORT,
) -> Result:
    """Run one check on one submission.

    function: from `checks_of`. seed: decides all random inputs. patience: factor for the time
    limit, for slow machines. draw: write a picture of a failure, in the folder `pictures`. before:
    the results of this submission so far: one mistake is told once, and what has not ended once is
    not run again, and what is wrong has ours in its place where it is called. effort: to find the
    place of the mistake, which changes no points.
    """
    started = time.monotonic()
    status, diagnosis, message = "passed", "", ""
    trial = Trial(function, workers, patience, [])
    wrong: in_place.Wrong = {}
    attempt = Attempt(lesson, check, submission, seed, pictures if draw else None)
    try:
        refuse_unwritten(submission, lesson, check)
        wrong = in_place.Blame(function, attempt, workers, patience).wrong(before)
        ours = in_place.replaceable(lesson, check, wrong)
        attempt = attempt._replace(submission=submission._replace(ours=ours))
        message = trial.decided(attempt, before)
    except CheckEnded as ended:
        status, diagnosis, message = ended.status, ended.diagnosis, str(ended)
        if trial.backends:
            told = in_place.without_replaced(before, wrong, attempt.submission.ours)
            with workers.beside() as beside:
                diagnosis, message = trial.explained(attempt, ended, told, wrong, effort, beside)
        else:
            message = waiting.not_begun_either(lesson, diagnosis, message, before)
    score = check.points if status == "passed" else 0
    device = workers.describe()[1] if trial.backends else ""
    seconds = round(time.monotonic() - started, 3)
    outcome = status, printable(message), diagnosis, "+".join(trial.backends), device, seconds
    return Result(lesson.name, check.name, score, check.points, *outcome)


class Trial(NamedTuple):
    """A check and what runs it. backends: the engines that have run something of it."""

    function: CheckFunction
    workers: WorkerPool
    patience: float
    backends: list[str]

    def decided(self, attempt: Attempt, before: Sequence[Result]) -> str:
        """What is told of a check that has passed. Raises `CheckEnded` for one that has not.

        attempt: with ours in the place of what is wrong.
        """
        lesson, check, submission, _, _ = attempt
        own = attempt._replace(submission=submission._replace(ours=()), pictures=None)
        already = in_place.told_already(lesson, check, before)
        if already:
            try:
                self.passed_everywhere(own, only_doubles=True)
                return f"no doubles; what else is wrong is told by {already}, above"
            except CheckEnded as ended:
                if ended.diagnosis in OF_DOUBLES:
                    raise
        endless = waiting.endless_before(check, lesson, before)
        if not submission.ours:
            if endless:
                raise CheckEnded("failed", "waits", endless)
            return self.passed_everywhere(attempt)
        names = " and ".join(f"`{name}`" for name in submission.ours)
        try:
            notes = self.passed_everywhere(attempt)
            told = f"passed with ours in place of {names}, which is wrong: see above\n{notes}"
            return told.strip()
        except CheckEnded:
            if not endless:
                with suppress(CheckEnded):  # it may fit the file's own functions better
                    return self.passed_everywhere(own)
            raise

    def passed_everywhere(self, attempt: Attempt, only_doubles: bool = False) -> str:
        """As `decided`, on the lab's engines, and on a GPU if there is one."""
        message, check, workers = "", attempt.check, self.workers
        no_gpu, _ = workers.describe()
        if check.gpu and no_gpu:
            raise CheckEnded("skipped", "no GPU", f"this check needs a GPU, but {no_gpu}")
        for on_gpu in [False] if no_gpu else [False, True]:
            workers.ready()
            deadline = time.monotonic() + check.timeout * self.patience
            engines = Engines(deadline, on_gpu, only_doubles=only_doubles)
            message = "\n".join(self.passed(attempt, engines)) or message
        return message

    def passed(self, attempt: Attempt, engines: Engines) -> list[str]:
        """As `decided`, on one machine.

        If a file only conducts, the native engine comes first. It says less of what is wrong, and
        has only to say whether anything is.
        """
        conducts = only_conducts(attempt.lesson, attempt.submission)
        if self.workers.warm and not engines.on_gpu and conducts:
            try:
                return self.notes_of(attempt, engines._replace(only_native=True))
            except CheckEnded as ended:
                if ended.status == "timeout":
                    raise
        try:
            return self.notes_of(attempt, engines)
        except EngineRefused:
            return self.notes_of(attempt, engines._replace(only_checked=True))

    def notes_of(self, attempt: Attempt, engines: Engines) -> list[str]:
        """Run a check; returns its notes. Raises `CheckEnded` if it is not passed.

        Values that no check is written for, of a student's function, are no error of the grader.
        """
        runs = Runs(attempt, self.workers, engines, self.backends)
        case = (NoNumbers if engines.only_doubles else Verdict)(attempt, runs)
        try:
            self.function(case)
            return case.notes
        except UNREADABLE as error:
            returned_by = runs.last.returned_by
            what = f"what {returned_by} returned" if returned_by else "what came back"
            raise CheckEnded(
                "failed", NOT_UNDERSTOOD, runs.last.what,
                f"{NOT_UNDERSTOOD}: the check cannot make sense of {what} ({told(error)}). Return "
                "what the docstring says, of the same kind for each call; if you do, show this "
                "message to your instructor",
            ) from None  # fmt: skip

    def explained(
        self, attempt: Attempt, ended: CheckEnded, before: Sequence[Result], wrong: in_place.Wrong,
        effort: Effort, beside: WorkerPool,
    ) -> tuple[str, str]:  # fmt: skip
        """(diagnosis, message) of a failed check, with all that can be found out about it.

        What the simulator found is told as it is. Wrong numbers are looked up among known mistakes;
        of others a pattern is told, and the line of the file that mends them, if one is found.
        before: without the checks that have failed for what ours stand in the place of. beside: for
        changed texts, see `WorkerPool.beside`.
        """
        lesson, on_gpu = attempt.lesson, "cuda" in self.backends
        once = partial(waiting.told_once, attempt.check, lesson, before=before, wrong=wrong)
        diagnosis, message = once(ended.diagnosis, str(ended))
        named = None
        if isinstance(ended, WrongNumbers) and message == str(ended) and not on_gpu:
            named = known_mistake(self.function, attempt, beside, self.patience)
            if named:
                ended = ended.renamed(named.code, named.sentence)
                diagnosis, message = once(ended.diagnosis, str(ended))
        if isinstance(ended, WrongNumbers) and message == str(ended):
            message = ended.message()
        fine = waiting.passed_functions(lesson, before)
        failure = Failure(self.function, attempt, diagnosis, message, fine)
        found: list[str] = []
        vaguely = named and named.sentence.startswith(LEAVES)
        if (not named or vaguely) and not on_gpu and failure.is_new(before):
            found = lines_on_slip(failure, beside, effort.patient(self.patience))
        hint = f"stuck? python -m lessons hint {lesson.number}"
        told = any(LEFT_OUT in result.message for result in before)
        left_out = [] if told else [f"{LEFT_OUT}{line}" for line in self.workers.left_out()]
        return diagnosis, "\n".join(
            [message, *found, *left_out, *printed_lines(self.workers), hint]
        )


def run_solutions(lessons: Sequence[Lesson], seed: int, workers: WorkerPool) -> None:
    """Run all checks of these lessons on our own solutions: the workers then know the way."""
    for lesson in lessons:
        submission = Submission(lesson.exercise, solution_text(lesson).encode())
        functions = checks_of(lesson)
        for check in lesson.checks:
            function = functions[check.name]
            run_check(
                function, lesson, check, submission, workers, seed, PATIENCE,
                draw=False, effort=NO_EFFORT,
            )  # fmt: skip


def runs_our_kernels(lesson: Lesson) -> bool:
    """Whether its checks run the stages of `kernels/`, and not only the student's own."""
    return any(part.file == "kernels/training_step.py" for part in lesson.parts)


def only_conducts(lesson: Lesson, submission: Submission) -> bool:
    """Whether a file can only start kernels of ours, which have no race and no index outside."""
    return runs_our_kernels(lesson) and b"jit" not in (submission.text or b"")


def told(error: Exception) -> str:
    """An exception of a check, and in which of its lines."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f for f in frames if Path(f.filename).name.startswith("test_")]
    where = f"{Path(places[-1].filename).name}, line {places[-1].lineno}: " if places else ""
    return f"{where}{type(error).__name__}: {str(error)[:200]}"


def refuse_unwritten(submission: Submission, lesson: Lesson, check: Check) -> None:
    """End a check that the file gives nothing to run for."""
    if submission.text is None:
        why = f"there is no file {submission.path}"
        if os.path.lexists(submission.path):
            why = f"{submission.path} is not read: it is no plain file, or larger than any exercise"
        raise CheckEnded("failed", "no file", why)
    text = submission.text.decode("utf-8", "replace")
    if is_too_long(text):
        raise CheckEnded(
            "failed", "too long to read",
            f"too long to read: the file has more than {MOST_NODES:,} names, numbers and operators "
            "(comments do not count). Leave out what the lesson does not ask for",
        )  # fmt: skip
    missing = unwritten(text, check.needs)
    if missing:
        raise CheckEnded("failed", "not written", f"not written yet: {', '.join(missing)}")
    for earlier in earlier_files(lesson):
        missing = unwritten(earlier.text.decode("utf-8", "replace"), earlier.names)
        if missing:
            needs = (
                f"this lesson uses what you write in {earlier.name}, and there is missing: "
                f"{', '.join(missing)}. Write it first, or ask for a file to put at "
                f"solutions/{earlier.name}.py"
            )
            raise CheckEnded("failed", f"needs {earlier.name}", needs)


def printed_lines(workers: WorkerPool) -> list[str]:
    """The first lines that the student's file has printed."""
    lines = [line[:100] for line in workers.printed().splitlines() if line.strip()]
    return [f"printed: {line}" for line in lines[:MAX_PRINTED_LINES]]
