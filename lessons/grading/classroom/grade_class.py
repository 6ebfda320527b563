"""Grade a class: every check of every submission, side by side, and go on after an interruption."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lessons.course.lesson import Check, Lesson
from lessons.grading.classroom.intake import Handed
from lessons.grading.classroom.journal import GRADER_FAILED, Journal
from lessons.grading.explain.evidence import picture_path
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.explain_failure import EFFORT_FOR_A_CLASS, Effort
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import checks_of, run_check, run_solutions, runs_our_kernels
from lessons.grading.judge.warm_workers import WarmWorkers
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import WorkerLost
from lessons.grading.walls.submission import Submission

Functions = Mapping[str, Mapping[str, CheckFunction]]  # lesson -> check -> function
WORTH_WARMING = 3  # submissions; for fewer, it would cost more than it saves
WAIT_SECONDS = 0.5  # for an interruption to be noticed


class Settings(NamedTuple):
    lessons: Sequence[Lesson]
    jobs: int
    patience: float  # factor for the time limits
    seconds_per_submission: float  # the rest of a submission's checks then count as timeouts
    pictures_of: Callable[[str], Path]  # student -> folder for the pictures of failed checks
    new_pool: Callable[[], WorkerPool] | None = None  # None: of workers that begin warm
    effort: Effort = EFFORT_FOR_A_CLASS  # to find the place of a mistake


class ClassGrader:
    """Grades the submissions of a class, `jobs` at a time."""

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.settings = settings
        self.journal = journal
        # Read now: what a submission may do to these files later changes nothing.
        self.functions: Functions = {lesson.name: checks_of(lesson) for lesson in settings.lessons}
        self.stopping = threading.Event()
        self.warm_workers = WarmWorkers()
        self.pools: list[WorkerPool] = []
        self.free_pools: list[WorkerPool] = []

    def grade(self, class_: Sequence[Handed], finished: Callable[[Handed], None]) -> None:
        """Run what has no row yet. finished: called for each student whose checks have all run.

        An exception, also an interruption, ends all workers; what has its row keeps it.
        """
        try:
            if self.settings.new_pool is None:
                self.warm_up(class_)
            with ThreadPoolExecutor(self.settings.jobs, "grader") as threads:
                waiting = {threads.submit(self.grade_one, handed): handed for handed in class_}
                try:
                    self.wait_for(waiting, finished)
                finally:
                    self.stopping.set()
                    for future in waiting:
                        future.cancel()
                    self.stop_workers()
        finally:
            # A thread may have started one while the others were ended.
            self.stop_workers()
            self.warm_workers.stop()

    def wait_for(
        self, waiting: dict[Future[None], Handed], finished: Callable[[Handed], None]
    ) -> None:
        while waiting:
            done, _ = wait(waiting, WAIT_SECONDS, FIRST_COMPLETED)
            for future in done:
                handed = waiting.pop(future)
                future.result()
                finished(handed)

    def stop_workers(self) -> None:
        for pool in self.pools:
            pool.stop()

    def warm_up(self, class_: Sequence[Handed]) -> None:
        """Compile once what many submissions need: Numba's own parts, and our kernels."""
        waiting = [handed for handed in class_ if self.is_waiting(handed)]
        if len(waiting) < WORTH_WARMING:
            return
        lessons = [
            lesson
            for lesson in self.settings.lessons
            if lesson is self.settings.lessons[0]
            or (runs_our_kernels(lesson) and any(lesson.name in one.files for one in waiting))
        ]
        seed = self.journal.run.seed
        self.warm_workers.warm_up(lambda pool: run_solutions(lessons, seed, pool))

    def is_waiting(self, handed: Handed) -> bool:
        """Whether there is a check to run."""
        return any(
            not self.journal.known(handed.student, handed.files[lesson.name].digest,
                                   lesson.name, check.name)
            for lesson in self.settings.lessons
            if lesson.name in handed.files
            for check in lesson.checks
        )  # fmt: skip

    def grade_one(self, handed: Handed) -> None:
        pool = self.take_pool()
        left = self.settings.seconds_per_submission
        try:
            for lesson in self.settings.lessons:
                submission = handed.files.get(lesson.name)
                if submission is None or submission.text is None:
                    continue  # `gradebook` gives it the rows of a file that is missing
                file = submission.digest
                before: list[Result] = []
                for check in lesson.checks:
                    known = self.journal.known(handed.student, file, lesson.name, check.name)
                    if known:
                        before.append(known)
                        continue
                    began = time.monotonic()
                    result = self.run(handed.student, lesson, check, submission, pool, left, before)
                    before.append(result)
                    if self.stopping.is_set():
                        return  # its worker was ended, or may have been
                    left -= time.monotonic() - began
                    self.journal.write(handed.student, file, result)
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
            self.journal.run.seed, settings.patience, pictures=pictures, before=before,
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
