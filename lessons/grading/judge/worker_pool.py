"""Which worker runs a file, and when a new one has to be started."""

import functools
import multiprocessing.util
import time
from collections.abc import Callable, Sequence

from lessons.course.earlier import Earlier
from lessons.grading.judge.worker_process import WorkerLost, WorkerProcess, WorkerTimeout
from lessons.grading.walls.submission import Submission

WAITS = 1.0, 5.0  # seconds, before a worker that could not be started is tried again


class WorkerPool:
    """A pool of one: gives a worker that has a certain file loaded, the present one if it will do.

    trusted: keep the process when another file is loaded or an error was raised. That is fast, and
    only right for files of our own, or for no points. new_worker: how a worker is started; None for
    a process that begins from nothing. warm: whether its workers begin with our kernels compiled.
    """

    def __init__(
        self,
        trusted: bool = False,
        new_worker: Callable[[], WorkerProcess] | None = None,
        warm: bool = False,
    ) -> None:
        self.trusted = trusted
        self.warm = warm
        self.forgets = not trusted  # the texts of solutions, which other lessons' files may need
        self.new_worker = new_worker or WorkerProcess
        self.worker: WorkerProcess | None = None
        self.loaded: Submission | None = None
        # A file that did not finish loading in time: it will not do so again.
        self.endless: Submission | None = None

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def beside(self) -> "WorkerPool":
        """A pool that is kept for many texts of one lesson, with workers that start like these."""
        pool = WorkerPool(trusted=True, new_worker=self.new_worker)
        pool.forgets = True
        return pool

    def describe(self) -> tuple[str | None, str]:
        """(why there is no GPU, or None; name of the device): the same for every worker."""
        worker = self.worker or self.start()
        return worker.no_gpu, worker.device

    def ready(self) -> None:
        """Make sure that there is a live worker; its start is not part of a check's time."""
        if self.worker is None or not self.worker.alive:
            self.start()

    def start(self) -> WorkerProcess:
        """Start a worker; more than once, on a machine that is short of something just now."""
        self.stop()
        for seconds in WAITS:
            try:
                self.worker = self.new_worker()
                return self.worker
            except (OSError, WorkerLost):
                time.sleep(seconds)
        self.worker = self.new_worker()
        return self.worker

    def with_file(
        self,
        submission: Submission,
        hide: dict[str, list[str]],
        deadline: float,
        earlier: Sequence[Earlier] = (),
        given: dict[str, list[str]] | None = None,
    ) -> WorkerProcess:
        """A worker that has loaded a file. hide and so on, raises: see `WorkerProcess.load`."""
        # A check may go on after an error that its worker has not survived.
        self.ready()
        worker = self.worker or self.start()
        if self.loaded == submission:
            return worker
        if self.loaded is not None and not self.trusted:
            worker = self.start()
        if submission == self.endless:
            raise WorkerTimeout
        try:
            text, ours = submission.text or b"", submission.ours
            worker.load(text, hide, deadline, earlier, given, ours, self.forgets)
        except WorkerTimeout:
            self.endless = submission
            raise
        self.loaded = submission
        return worker

    def after_error(self) -> None:
        if not self.trusted:
            self.stop()

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()
        self.loaded = None

    def left_out(self) -> list[str]:
        return self.worker.left_out if self.worker else []

    def printed(self) -> str:
        return self.worker.printed() if self.worker else ""


@functools.cache
def workers_of_process() -> WorkerPool:
    """Workers for files of our own, one pool for a process that is one of several; it ends them."""
    workers = WorkerPool(trusted=True)
    multiprocessing.util.Finalize(None, workers.stop, exitpriority=1)
    return workers
