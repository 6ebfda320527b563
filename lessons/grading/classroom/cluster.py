"""Grade a class on several machines: `python -m lessons grade SUBMISSIONS --cluster ADDRESS`.

An engine that exists, Dask's scheduler and its workers, divides the submissions: one is a task. A
Dask worker grades as this machine would: with the same checks, and students' code in processes of
its own behind the same walls; if its walls or its copy of the course are others, the class is not
graded. Only this side writes: the journal, the pictures and the grades.

A submission is graded again if the worker that had it is lost; no other one is. After Ctrl-C the
same command goes on.
"""

import atexit
import functools
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import find_lesson
from lessons.grading.classroom.grade_class import is_waiting
from lessons.grading.classroom.grade_submission import Settings, SubmissionGrader, without_run
from lessons.grading.classroom.intake import Handed
from lessons.grading.classroom.journal import Journal, confinement, digest_of_checks
from lessons.grading.judge.explain_failure import Effort
from lessons.grading.judge.result import GRADER_FAILED, Result

LOCAL = "local"
SECONDS_TO_CONNECT = 20
UNDER_WAY = 3  # tasks per worker that are given out; the others stay here

Rows = list[tuple[str, Result]]  # (SHA-256 of the file, row of a check)


class Task(NamedTuple):
    """What all tasks of a run have in common; can be sent, and compared."""

    lessons: tuple[str, ...]  # their numbers
    checks: str  # see `journal.digest_of_checks`
    confinement: tuple[str, ...]  # see `journal.confinement`
    seed: int
    patience: float
    seconds_per_submission: float
    effort: Effort


class Graded(NamedTuple):
    """What a task sends back. refused: why this worker must not grade, or ""."""

    rows: Rows
    pictures: Mapping[str, bytes]  # name of a file -> content
    refused: str = ""


# ---------------------------------------------------------------- on a worker of the cluster


def graded(handed: Handed, known: Rows, task: Task) -> Graded:
    """The rows of a submission that are not known yet."""
    refused = why_not(task)
    if refused:
        return Graded([], {}, f"a worker on {os.uname().nodename} {refused}")
    rows = {(file, row.lesson, row.check): row for file, row in known}
    with tempfile.TemporaryDirectory() as folder:
        grader = grader_of_process(task)
        PICTURES[handed.student] = Path(folder)
        try:
            new = list(grader.rows(handed, lambda *key: rows.get(key)))
        finally:
            del PICTURES[handed.student]
        pictures = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in Path(folder).rglob("*.*")
        }
    return Graded(new, pictures)


PICTURES: dict[str, Path] = {}  # student -> the folder for pictures of a task that runs here


@functools.cache
def why_not(task: Task) -> str:
    """Why this process must not grade for a run; "" if it may."""
    lessons = [find_lesson(number) for number in task.lessons]
    if digest_of_checks(lessons) != task.checks:
        return "has other checks: give it the same copy of the course"
    missing = set(task.confinement) - set(confinement())
    if missing:
        return f"confines students' code less than this machine; it lacks: {'; '.join(missing)}"
    return ""


@functools.cache
def grader_of_process(task: Task) -> SubmissionGrader:
    """What grades in this process, until it ends."""
    settings = Settings(
        [find_lesson(number) for number in task.lessons], task.seed, 1, task.patience,
        task.seconds_per_submission, lambda student: PICTURES[student], effort=task.effort,
    )  # fmt: skip
    grader = SubmissionGrader(settings)
    atexit.register(grader.stop)
    grader.warm_up([lesson.name for lesson in settings.lessons])
    return grader


# ---------------------------------------------------------------- here


class ClusterGrader:
    """Grades the submissions of a class on a cluster, as `ClassGrader` does in threads."""

    def __init__(self, address: str, settings: Settings, journal: Journal) -> None:
        """address: of a Dask scheduler, such as "tcp://10.0.0.1:8786"; or "local"."""
        self.address = address
        self.settings = settings
        self.journal = journal
        self.task = Task(
            tuple(lesson.number for lesson in settings.lessons),
            digest_of_checks(settings.lessons), tuple(confinement()),
            settings.seed, settings.patience, settings.seconds_per_submission, settings.effort,
        )  # fmt: skip

    def grade(self, class_: Sequence[Handed], finished: Callable[[Handed], None]) -> None:
        """As `ClassGrader.grade`. Raises `InputError` if there is no cluster, or an unfit one."""
        settings, journal = self.settings, self.journal
        for handed in class_:
            if not is_waiting(handed, settings, journal):
                finished(handed)
        waiting = [handed for handed in class_ if is_waiting(handed, settings, journal)]
        if not waiting:
            return
        with connected(self.address, settings.jobs) as client:
            for handed, outcome in outcomes(client, waiting, self.submit):
                self.keep(handed, outcome)
                finished(handed)

    def submit(self, client: Any, handed: Handed) -> Any:
        known = [
            (file or "", row)
            for (student, _, _), (file, row) in self.journal.rows.items()
            if student == handed.student
        ]
        return client.submit(graded, handed, known, self.task, pure=False)

    def keep(self, handed: Handed, outcome: Graded | Exception) -> None:
        if isinstance(outcome, Exception):
            outcome = Graded(self.failed(handed, outcome), {})
        if outcome.refused:
            raise InputError(f"--cluster {self.address}: {outcome.refused}")
        folder = self.settings.pictures_of(handed.student)
        for name, content in outcome.pictures.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, partial(write_bytes, content))
        for file, row in outcome.rows:
            self.journal.write(handed.student, file, row)

    def failed(self, handed: Handed, error: Exception) -> Rows:
        """Rows that run again the next time: the grader has failed, or its machines."""
        why = f"the cluster failed, not the submission: {type(error).__name__}: {error}"
        return [
            (file.digest, without_run(lesson, check, "error", GRADER_FAILED, why))
            for lesson in self.settings.lessons
            if (file := handed.files.get(lesson.name))
            for check in lesson.checks
            if not self.journal.known(handed.student, file.digest, lesson.name, check.name)
        ]


def write_bytes(content: bytes, file: BinaryIO) -> None:
    file.write(content)


@contextmanager
def connected(address: str, jobs: int) -> Iterator[Any]:
    """A Dask client with at least one worker. jobs: how many are started for "local"."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "--cluster needs Dask: "
            "python -m pip install -r lessons/grading/requirements-cluster.txt"
        ) from None
    with ExitStack() as stack:
        stack.enter_context(quiet())
        try:
            if address == LOCAL:
                cluster = distributed.LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(cluster)
                address = cluster.scheduler_address
            client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
            stack.enter_context(client)
            client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"--cluster {address}: no scheduler with a worker answers there ({error}): start "
                "`dask scheduler` and `dask worker ADDRESS`, or take --cluster local"
            ) from None
        yield client


@contextmanager
def quiet() -> Iterator[None]:
    """Leaves Dask's log messages out: what matters is told as an error, or in a row."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def outcomes(
    client: Any, waiting: Sequence[Handed], submit: Callable[[Any, Handed], Any]
) -> Iterator[tuple[Handed, Graded | Exception]]:
    """What came of each submission, as it comes; a few at a time are given out."""
    import distributed

    left = iter(waiting)
    handed_of: dict[Any, Handed] = {}
    futures = distributed.as_completed()
    try:
        most = max(1, UNDER_WAY * len(client.scheduler_info()["workers"]))
        for _ in range(most):
            give_out(client, left, submit, futures, handed_of)
        for future in futures:
            error = future.exception()
            yield handed_of.pop(future.key), error if error is not None else future.result()
            give_out(client, left, submit, futures, handed_of)
    finally:
        with suppress(Exception):  # the scheduler may have gone
            client.cancel(list(futures.futures))


def give_out(
    client: Any,
    left: Iterator[Handed],
    submit: Callable[[Any, Handed], Any],
    futures: Any,
    handed_of: dict[Any, Handed],
) -> None:
    handed = next(left, None)
    if handed is not None:
        future = submit(client, handed)
        handed_of[future.key] = handed
        futures.add(future)
