"""Spread the blocks of a launch over the cores, and end it early where somebody asks for that."""

import itertools
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias

import numpy as np

from .thread import NOTE_WORDS, SPIN_SITE, SPINS, STOP

# Called with the first block, the one after the last, and the notes of a part.
RunPart: TypeAlias = Callable[[int, int, np.ndarray], None]
Done: TypeAlias = "SimpleQueue[tuple[int, BaseException | None]]"

STUCK_SECONDS = 3.0  # in which nothing has changed that anybody waits for
SECONDS = 0.2  # between two looks at the keyboard, which on Windows nothing else lets through


class Job(NamedTuple):
    """A part of a launch; its error, or None, goes to `done` with its number."""

    number: int
    run: Callable[[], None]
    done: Done


class Workers:
    """Threads that wait for jobs."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        """Have at least so many threads."""
        while len(self.threads) < count:
            name = f"native-{len(self.threads)}"
            thread = threading.Thread(target=self.work, name=name, daemon=True)
            self.threads.append(thread)
            thread.start()

    def work(self) -> None:
        for job in iter(self.jobs.get, None):
            error: BaseException | None = None
            try:
                job.run()
            except BaseException as raised:
                error = raised
            job.done.put((job.number, error))

    def end(self) -> None:
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()


workers = Workers()


def forget_workers() -> None:
    """In a process that was forked: threads are not."""
    global workers
    workers = Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_workers)


class StuckWatch:
    """Sees that all threads of a launch wait, in loops, for memory that nobody will change."""

    def __init__(self, notes: np.ndarray) -> None:
        """notes: of all parts."""
        self.notes = notes
        self.spins = notes[:, SPINS].copy()
        self.since = time.monotonic()

    def stuck_part(self, unfinished: set[int]) -> int | None:
        """A part that waits for ever; None if there is none. Asked now and then."""
        before, self.spins = self.spins, self.notes[:, SPINS].copy()
        if not all(self.spins[part] > before[part] > 0 for part in unfinished):
            self.since = time.monotonic()
        if not unfinished or time.monotonic() - self.since < STUCK_SECONDS:
            return None
        return min(unfinished)


class Endless(Exception):
    """All threads wait for ever. site: the number of the loop in which one does."""

    def __init__(self, site: int) -> None:
        self.site = site


def run_on_cores(blocks: int, cores: int, run_part: RunPart) -> None:
    """Run all blocks, in as many parts as there are cores.

    Ctrl-C, or an error in one part, ends the others. After Ctrl-C no thread is left. Raises
    `Endless`.
    """
    parts = min(cores, blocks)
    ends = [blocks * part // parts for part in range(parts + 1)]
    notes = np.zeros((parts, NOTE_WORDS), np.int64)
    done: Done = SimpleQueue()
    errors: dict[int, BaseException] = {}
    unfinished: set[int] = set()
    watch = StuckWatch(notes)
    stuck: int | None = None
    try:
        workers.start(parts)
        for number, (first, last) in enumerate(itertools.pairwise(ends)):
            workers.jobs.put(Job(number, partial(run_part, first, last, notes[number]), done))
            unfinished.add(number)
        while unfinished:
            collect(done, errors, unfinished)
            if stuck is None:
                stuck = watch.stuck_part(unfinished)
            if errors or stuck is not None:
                notes[:, STOP] = 1
    except BaseException:  # Ctrl-C, or what the handler of another signal raises
        notes[:, STOP] = 1
        end_workers()
        raise
    # A part that was told to end says so with a KeyboardInterrupt, which is nobody's error.
    ours = [error for error in errors.values() if not isinstance(error, KeyboardInterrupt)]
    if ours:
        raise ours[0]
    if stuck is not None:
        raise Endless(int(notes[stuck, SPIN_SITE]))
    if errors:
        raise next(iter(errors.values()))


def collect(done: Done, errors: dict[int, BaseException], unfinished: set[int]) -> None:
    """Wait a moment for a part to end."""
    try:
        number, error = done.get(timeout=SECONDS)
    except Empty:
        return
    unfinished.discard(number)
    if error is not None:
        errors[number] = error


def end_workers() -> None:
    """Wait until the threads have done what they do, and end them; a later launch makes others."""
    global workers
    ending, workers = workers, Workers()
    ending.end()
