"""Grade a text as a submission to lesson 1, or to another."""

from pathlib import Path

from lessons.course.lesson import find_lesson
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import WorkerProcess
from lessons.grading.walls.submission import Submission

LESSON = find_lesson(1)
PATIENCE = 10.0  # no verdict may depend on how busy the machine is


def pool_for_any_code():
    """Workers that run all of a file, and not only what an exercise needs."""
    return WorkerPool(new_worker=lambda: WorkerProcess(any_code=True))


def grade(text, checks=LESSON.checks, seed=5, workers=None, lesson=LESSON):
    """check -> `Result`; text None: there is no file. The checks run in the order given.

    workers: a pool to use and to leave running; None for one of its own. lesson: of the checks.
    """
    pool = workers or WorkerPool()
    functions = checks_of(lesson)
    submission = Submission(Path("exercise.py"), None if text is None else text.encode("utf-8"))
    results = {}
    try:
        for check in checks:
            results[check.name] = run_check(
                functions[check.name], lesson, check, submission, pool, seed, PATIENCE,
                draw=False, effort=NO_EFFORT,
            )  # fmt: skip
    finally:
        if pool is not workers:
            pool.stop()
    return results
