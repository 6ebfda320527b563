"""Grade one submission: its checks one after another, in workers that many submissions share."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lessons.course.lesson import Check, Lesson
from lessons.grading.classroom.intake import Handed
from lessons.grading.explain.evidence import picture_path
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.explain_failure import EFFORT_FOR_A_CLASS, Effort
from lessons.grading.judge.result import GRADER_FAILED, Result
from lessons.grading.judge.run import checks_of, run_check, run_solutions, runs_our_kernels
from lessons.grading.judge.warm_workers import WarmWorkers
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import WorkerLost
from lessons.grading.walls.submission import Submission

Functions = Mapping[str, Mapping[str, CheckFunction]]  # lesson -> check -> function
KnownRow = Callable[[str, str, str], Result | None]  # (SHA-256 of a file, lesson, check) -> its row


class Settings(NamedTuple):
    lessons: Sequence[Lesson]
    seed: int
    jobs: int
    patience: float  # factor for the time limits
    seconds_per_submission: float  # the rest of a submission's checks then count as timeouts
    pictures_of: Callable[[str], Path]  # student -> folder for the pictures of failed checks
    new_pool: Callable[[], WorkerPool] | None = None  # None: of workers that begin warm
    effort: Effort = EFFORT_FOR_A_CLASS  # to find the place of a mistake


class SubmissionGrader:
    """Grades submissions, in several threads if need be. `stop` ends its workers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # Read now: what a submission may do to these files later changes nothing.
        self.functions: Functions = {lesson.name: checks_of(lesson) for lesson in settings.lessons}
        self.warm_workers = WarmWorkers()
        self.pools: list[WorkerPool] = []
        self.free_pools: list[WorkerPool] = []

    def warm_up(self, handed_in: Sequence[str]) -> None:
        """Compile once what many submissions need: Numba's own parts, and our kernels.

        handed_in: names of the lessons for which there are files.
        """
        if self.settings.new_pool is not None:
            return
        lessons = [
            lesson
            for lesson in self.settings.lessons
            if lesson is self.settings.lessons[0]
            or (runs_our_kernels(lesson) and lesson.name in handed_in)
        ]
        self.warm_workers.warm_up(lambda pool: run_solutions(lessons, self.settings.seed, pool))

    def stop(self) -> None:
        self.stop_workers()
        self.warm_workers.stop()

    def stop_workers(self) -> None:
        for pool in self.pools:
            pool.stop()

    def rows(self, handed: Handed, known: KnownRow) -> Iterator[tuple[str, Result]]:
        """(SHA-256 of the file, result) of each check that has no row yet, as soon as it has run.

        known: gives the row of a check of an earlier run, or None.
        """
        pool = self.take_pool()
        try:
            left = self.settings.seconds_per_submission
            for lesson in self.settings.lessons:
                submission = handed.files.get(lesson.name)
                if submission is None or submission.text is None:
                    continue  # `gradebook` gives it the rows of a file that is missing
                file = submission.digest
                before: list[Result] = []
                for check in lesson.checks:
                    result = known(file, lesson.name, check.name)
                    if result is None:
                        began = time.monotonic()
                        result = self.run(
                            handed.student, lesson, check, submission, pool, left, before
                        )
                        left -= time.monotonic() - began
                        yield file, result
                    before.append(result)
        finally:
            self.free_pools.append(pool)

    def take_pool(self) -> WorkerPool:
        try:
            return self.free_pools.pop()
        except IndexError:
            new_pool = self.settings.new_pool or self.warm_workers.new_pool
            self.pools.append(new_pool())
            return self.pools[-1]

    def run(
        self,
        student: str,
        lesson: Lesson,
        check: Check,
        submission: Submission,
        pool: WorkerPool,
        left: float,
        before: Sequence[Result] = (),
    ) -> Result:
        """The result of one check; also if the grader itself fails, which costs no other."""
        settings = self.settings
        if left <= 0:
            return without_run(
                lesson, check, "timeout", "no time left",
                f"the {settings.seconds_per_submission:g} seconds of this submission were used up "
                "by the checks before",
            )  # fmt: skip
        pictures = settings.pictures_of(student)
        for suffix in (".png", ".html"):
            picture = picture_path(pictures, lesson, check).with_suffix(suffix)
            picture.unlink(missing_ok=True)
        limited = check._replace(timeout=min(check.timeout, left / settings.patience))
        run = partial(
            run_check, self.functions[lesson.name][check.name], lesson, limited, submission, pool,
            settings.seed, settings.patience, pictures=pictures, before=before,
            effort=settings.effort,
        )  # fmt: skip
        try:
            try:
                result = run()
            except WorkerLost:
                result = run()  # with another worker
        except Exception as error:
            pool.stop()
            return without_run(
                lesson, check, "error", GRADER_FAILED,
                f"the grader failed, not the submission: {type(error).__name__}: {error}",
            )  # fmt: skip
        return result


def without_run(lesson: Lesson, check: Check, status: str, diagnosis: str, message: str) -> Result:
    return Result(lesson.name, check.name, 0, check.points, status, message, diagnosis, "", "", 0.0)
