"""Run a check on a student's file, and say what came of it.

A check runs once with the lab's engines, and where there is a GPU, once more on that, with the same
random numbers.
"""

import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

from lessons.course.earlier import earlier_files
from lessons.course.exercises import unwritten
from lessons.course.lesson import Check, Lesson
from lessons.grading.case import PICTURES, Case, CheckEnded, CheckFunction
from lessons.grading.submission import Submission
from lessons.grading.worker_pool import WorkerPool

MAX_PRINTED_LINES = 3


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
) -> Result:
    """Run one check on one submission.

    function: from `checks_of`. seed: decides all random inputs. patience: factor for the time
    limit, for slow machines. draw: write a picture of a failure, in the folder `pictures`.
    """
    started = time.monotonic()
    backends: list[str] = []
    device = ""
    status, diagnosis, message = "passed", "", ""
    try:
        refuse_unwritten(submission, lesson, check)
        no_gpu, device = workers.describe()
        if check.gpu and no_gpu:
            raise CheckEnded("skipped", "no GPU", f"this check needs a GPU, but {no_gpu}")
        for on_gpu in [False] if no_gpu else [False, True]:
            workers.ready()
            deadline = time.monotonic() + check.timeout * patience
            function(
                Case(
                    lesson, check, submission, workers, seed, deadline, on_gpu, draw, backends,
                    pictures,
                )
            )  # fmt: skip
    except CheckEnded as ended:
        status, diagnosis, message = ended.status, ended.diagnosis, str(ended)
    if message and backends:
        hint = f"stuck? python -m lessons hint {lesson.number}"
        message = "\n".join([message, *printed_lines(workers), hint])
    return Result(
        lesson=lesson.name,
        check=check.name,
        score=check.points if status == "passed" else 0,
        max_score=check.points,
        status=status,
        message=message,
        diagnosis=diagnosis,
        backend="+".join(backends),
        device=device if backends else "",
        seconds=round(time.monotonic() - started, 3),
    )


def refuse_unwritten(submission: Submission, lesson: Lesson, check: Check) -> None:
    """End a check that the file gives nothing to run for."""
    if submission.text is None:
        raise CheckEnded("failed", "no file", f"there is no file {submission.path}")
    missing = unwritten(submission.text.decode("utf-8", "replace"), check.needs)
    if missing:
        raise CheckEnded("failed", "not written", f"not written yet: {', '.join(missing)}")
    for earlier in earlier_files(lesson):
        missing = unwritten(earlier.text.decode("utf-8", "replace"), earlier.names)
        if missing:
            raise CheckEnded(
                "failed",
                f"needs {earlier.name}",
                f"this lesson uses what you write in {earlier.name}, and there is missing: "
                f"{', '.join(missing)}. Write it first, or ask for a file to put at "
                f"solutions/{earlier.name}.py",
            )


def printed_lines(workers: WorkerPool) -> list[str]:
    """The first lines that the student's file has printed."""
    lines = [line[:100] for line in workers.printed().splitlines() if line.strip()]
    return [f"printed: {line}" for line in lines[:MAX_PRINTED_LINES]]
