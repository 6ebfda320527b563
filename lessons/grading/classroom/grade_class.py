"""Grade a class: every check of every submission, side by side, and go on after an interruption."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from lessons.grading.classroom.grade_submission import Settings, SubmissionGrader
from lessons.grading.classroom.intake import Handed
from lessons.grading.classroom.journal import Journal

WORTH_WARMING = 3  # submissions; for fewer, it would cost more than it saves
WAIT_SECONDS = 0.5  # for an interruption to be noticed


class ClassGrader:
    """Grades the submissions of a class in threads of this process, `jobs` at a time."""

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.settings = settings
        self.journal = journal
        self.grader = SubmissionGrader(settings)
        self.stopping = threading.Event()

    def grade(self, class_: Sequence[Handed], finished: Callable[[Handed], None]) -> None:
        """Run what has no row yet. finished: called for each student whose checks have all run.

        An exception, also an interruption, ends all workers; what has its row keeps it.
        """
        try:
            waiting = [
                handed for handed in class_ if is_waiting(handed, self.settings, self.journal)
            ]
            if len(waiting) >= WORTH_WARMING:
                self.grader.warm_up([name for handed in waiting for name in handed.files])
            with ThreadPoolExecutor(self.settings.jobs, "grader") as threads:
                futures = {threads.submit(self.grade_one, handed): handed for handed in class_}
                try:
                    wait_for(futures, finished)
                finally:
                    self.stopping.set()
                    for future in futures:
                        future.cancel()
                    self.grader.stop_workers()
        finally:
            # A thread may have started one while the others were ended.
            self.grader.stop()

    def grade_one(self, handed: Handed) -> None:
        known = partial(self.journal.known, handed.student)
        for file, result in self.grader.rows(handed, known):
            if self.stopping.is_set():
                return  # its worker was ended, or may have been
            self.journal.write(handed.student, file, result)


def wait_for(waiting: dict[Future[None], Handed], finished: Callable[[Handed], None]) -> None:
    while waiting:
        done, _ = wait(waiting, WAIT_SECONDS, FIRST_COMPLETED)
        for future in done:
            handed = waiting.pop(future)
            future.result()
            finished(handed)


def is_waiting(handed: Handed, settings: Settings, journal: Journal) -> bool:
    """Whether there is a check to run."""
    return any(
        not journal.known(handed.student, handed.files[lesson.name].digest, lesson.name, check.name)
        for lesson in settings.lessons
        if lesson.name in handed.files
        for check in lesson.checks
    )
