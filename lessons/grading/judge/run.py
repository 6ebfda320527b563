"""Run a check on a student's file, and say what came of it.

A check runs once with the lab's engines, and where there is a GPU, once more on that, with the same
random numbers.
"""

import importlib.util
import os
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from lessons.course.earlier import earlier_files
from lessons.course.exercises import solution_text, unwritten
from lessons.course.lesson import Check, Lesson
from lessons.course.source_text import MOST_NODES, is_too_long
from lessons.grading.explain.evidence import PICTURES
from lessons.grading.judge.case import Case, CheckFunction
from lessons.grading.judge.changed_texts import OF_DOUBLES
from lessons.grading.judge.explain_failure import (
    FULL_EFFORT,
    NO_EFFORT,
    Effort,
    Failure,
    lines_on_slip,
)
from lessons.grading.judge.in_place import (
    Blame,
    Wrong,
    only_doubles,
    replaceable,
    told_already,
    without_replaced,
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
from lessons.grading.judge.verdict import NoNumbers
from lessons.grading.judge.waiting import (
    endless_before,
    not_begun_either,
    passed_functions,
    told_once,
)
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.text import printable

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
    backends: list[str] = []
    status, diagnosis, message = "passed", "", ""
    wrong: Wrong = {}
    attempt = Attempt(lesson, check, submission, seed, pictures if draw else None)
    try:
        refuse_unwritten(submission, lesson, check)
        wrong = Blame(function, attempt, workers, patience).wrong(before)
        ours = replaceable(lesson, check, wrong)
        attempt = attempt._replace(submission=submission._replace(ours=ours))
        everywhere = partial(passed_everywhere, function, workers, backends, patience)
        message = decided(everywhere, attempt, before)
    except CheckEnded as ended:
        status, diagnosis, message = ended.status, ended.diagnosis, str(ended)
        if backends:
            told = without_replaced(before, wrong, attempt.submission.ours)
            diagnosis, message = explained(
                function, attempt, workers, ended, told, wrong, effort, patience, "cuda" in backends
            )
        else:
            message = not_begun_either(lesson, diagnosis, message, before)
    score = check.points if status == "passed" else 0
    backend, device = "+".join(backends), workers.describe()[1] if backends else ""
    seconds = round(time.monotonic() - started, 3)
    outcome = status, printable(message), diagnosis
    return Result(lesson.name, check.name, score, check.points, *outcome, backend, device, seconds)


def decided(everywhere: Callable[..., str], attempt: Attempt, before: Sequence[Result]) -> str:
    """What is told of a check that has passed. Raises `CheckEnded` for one that has not.

    everywhere: runs it, see `passed_everywhere`. attempt: with ours in the place of what is wrong.
    """
    lesson, check, submission, _, _ = attempt
    own = attempt._replace(submission=submission._replace(ours=()), pictures=None)
    already = told_already(lesson, check, before) if only_doubles(lesson, check) else ""
    if already:
        try:
            everywhere(own, only_doubles=True)
            return f"no doubles; what else is wrong is told by {already}, above"
        except CheckEnded as ended:
            if ended.diagnosis in OF_DOUBLES:
                raise
    endless = endless_before(check, lesson, before)
    if not submission.ours:
        if endless:
            raise CheckEnded("failed", "waits", endless)
        return everywhere(attempt)
    names = " and ".join(f"`{name}`" for name in submission.ours)
    try:
        notes = everywhere(attempt)
        return f"passed with ours in place of {names}, which is wrong: see above\n{notes}".strip()
    except CheckEnded:
        if not endless:
            with suppress(CheckEnded):  # it may fit the file's own functions better
                return everywhere(own)
        raise


def passed_everywhere(
    function: CheckFunction,
    workers: WorkerPool,
    backends: list[str],
    patience: float,
    attempt: Attempt,
    only_doubles: bool = False,
) -> str:
    """Run a check on the lab's engines, and on a GPU if there is one; see `decided`."""
    message, check = "", attempt.check
    no_gpu, _ = workers.describe()
    if check.gpu and no_gpu:
        raise CheckEnded("skipped", "no GPU", f"this check needs a GPU, but {no_gpu}")
    for on_gpu in [False] if no_gpu else [False, True]:
        workers.ready()
        deadline = time.monotonic() + check.timeout * patience
        engines = Engines(deadline, on_gpu, only_doubles=only_doubles)
        new_case = partial(case_on, attempt, workers, backends, engines)
        conducts = only_conducts(attempt.lesson, attempt.submission)
        quickly = workers.warm and not on_gpu and conducts
        message = "\n".join(passed(function, new_case, quickly)) or message
    return message


def case_on(
    attempt: Attempt, workers: WorkerPool, backends: list[str], engines: Engines, **only: bool
) -> Case:
    runs = Runs(attempt, workers, engines._replace(**only), backends)
    return Case(attempt, runs, NoNumbers(attempt, runs) if engines.only_doubles else None)


def explained(
    function: CheckFunction,
    attempt: Attempt,
    workers: WorkerPool,
    ended: CheckEnded,
    before: Sequence[Result],
    wrong: Wrong,
    effort: Effort,
    patience: float,
    on_gpu: bool,
) -> tuple[str, str]:
    """(diagnosis, message) of a failed check, with all that can be found out about it.

    What the simulator found is told as it is. Wrong numbers are looked up among known mistakes;
    of others a pattern is told, and the line of the file that mends them, if one is found.
    before: without the checks that have failed for what ours stand in the place of.
    """
    lesson, check = attempt.lesson, attempt.check
    diagnosis, message = told_once(check, lesson, ended.diagnosis, str(ended), before, wrong)
    named = None
    if isinstance(ended, WrongNumbers) and message == str(ended) and not on_gpu:
        named = known_mistake(function, attempt, workers, patience)
        if named:
            ended = ended.renamed(named.code, named.sentence)
            diagnosis, message = told_once(
                check, lesson, ended.diagnosis, str(ended), before, wrong
            )
    shown = message == str(ended)
    if shown and isinstance(ended, WrongNumbers):
        message = ended.message()
    fine = passed_functions(lesson, before)
    failure = Failure(function, attempt, diagnosis, message, fine)
    found: list[str] = []
    if not named and not on_gpu and failure.is_new(before):
        found = lines_on_slip(failure, workers, effort.patient(patience))
    hint = f"stuck? python -m lessons hint {lesson.number}"
    told = any(LEFT_OUT in result.message for result in before)
    left_out = [] if told else [f"{LEFT_OUT}{line}" for line in workers.left_out()]
    return diagnosis, "\n".join([message, *found, *left_out, *printed_lines(workers), hint])


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


def passed(
    function: CheckFunction, new_case: Callable[..., Case], quickly: bool = False
) -> list[str]:
    """What is told of a check that has passed. Raises `CheckEnded` for one that has not.

    quickly: try the native engine first. It says less of what is wrong, and has only to say whether
    anything is.
    """
    if quickly:
        case = new_case(only_native=True)
        try:
            decide(function, case)
            return case.verdict.notes
        except CheckEnded as ended:
            if ended.status == "timeout":
                raise
    case = new_case()
    try:
        decide(function, case)
    except EngineRefused:
        case = new_case(only_checked=True)
        decide(function, case)
    return case.verdict.notes


def decide(function: CheckFunction, case: Case) -> None:
    """Run a check; raises `CheckEnded` if it is not passed.

    Values that no check is written for, of a student's function, are no error of the grader.
    """
    try:
        function(case)
    except UNREADABLE as error:
        returned_by, what_ran = case.runs.last.returned_by, case.runs.last.what
        what = f"what {returned_by} returned" if returned_by else "what came back"
        raise CheckEnded(
            "failed", NOT_UNDERSTOOD, what_ran,
            f"{NOT_UNDERSTOOD}: the check cannot make sense of {what} ({told(error)}). Return what "
            "the docstring says, of the same kind for each call; if you do, show this message to "
            "your instructor",
        ) from None  # fmt: skip


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
