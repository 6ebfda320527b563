"""Spread the blocks of a launch over the cores, and end it early where somebody asks for that."""

import itertools
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias

import numpy as np

from .thread import NOTE_WORDS, STOP

# Called with the first block, the one after the last, and the notes of a part.
RunPart: TypeAlias = Callable[[int, int, np.ndarray], None]

SECONDS = 0.2  # between two looks at the keyboard, which on Windows nothing else lets through


class Job(NamedTuple):
    """A part of a launch; its error, or None, goes to `done` with its number."""

    number: int
    run: Callable[[], None]
    done: "SimpleQueue[tuple[int, BaseException | None]]"


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


def run_on_cores(blocks: int, cores: int, run_part: RunPart) -> None:
    """Run all blocks, in as many parts as there are cores.

    Ctrl-C, or an error in one part, ends the others. After Ctrl-C no thread is left.
    """
    parts = min(cores, blocks)
    ends = [blocks * part // parts for part in range(parts + 1)]
    notes = np.zeros((parts, NOTE_WORDS), np.int64)
    done: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    errors: dict[int, BaseException] = {}
    waiting = 0
    try:
        workers.start(parts)
        for number, (first, last) in enumerate(itertools.pairwise(ends)):
            workers.jobs.put(Job(number, part_of(run_part, first, last, notes[number]), done))
            waiting += 1
        while waiting:
            waiting -= collect(done, errors)
            if errors:
                notes[:, STOP] = 1
    except BaseException:  # Ctrl-C, or what the handler of another signal raises
        notes[:, STOP] = 1
        end_workers()
        raise
    if errors:
        # A part that was told to end says so with a KeyboardInterrupt, which is nobody's error.
        ours = [error for error in errors.values() if not isinstance(error, KeyboardInterrupt)]
        raise ours[0] if ours else next(iter(errors.values()))


def part_of(run_part: RunPart, first: int, last: int, notes: np.ndarray) -> Callable[[], None]:
    return lambda: run_part(first, last, notes)


def collect(
    done: "SimpleQueue[tuple[int, BaseException | None]]", errors: dict[int, BaseException]
) -> int:
    """Wait a moment for a part to end; 1 if one has."""
    try:
        number, error = done.get(timeout=SECONDS)
    except Empty:
        return 0
    if error is not None:
        errors[number] = error
    return 1


def end_workers() -> None:
    """Wait until the threads have done what they do, and end them; a later launch makes others."""
    global workers
    ending, workers = workers, Workers()
    ending.end()
