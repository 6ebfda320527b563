"""Run a check for its numbers: what each comparison has found, right or wrong, to its end.

With one of two public seeds, the same file leaves the same numbers whoever runs it, and whenever:
so a student's mistake can be looked up among known ones. No points depend on it.
"""

import time

from lessons.grading.explain.comparison import Diagnosis
from lessons.grading.explain.known import Observer, Recording, look_up, read
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.result import NOT_UNDERSTOOD, Attempt, CheckEnded, EngineRefused
from lessons.grading.judge.runs import Engines, Runs
from lessons.grading.judge.verdict import Compared, NoDemands
from lessons.grading.judge.worker_pool import WorkerPool

PUBLIC_SEEDS = 1_000_003, 2_000_003  # grades are decided on the run's own seed
SECONDS = 10.0  # of one recording; a file that needs more is not looked up


class Recorder(NoDemands):
    """Keeps what is wrong, and lets the check go on. Budgets and other demands are not looked at.

    A finding of the simulator, an exception or the time limit still ends it.
    """

    def __init__(self, attempt: Attempt, runs: Runs) -> None:
        super().__init__(attempt, runs)
        self.observer = Observer()

    def decide_on(self, one: Compared) -> None:
        if not one.guards_intact:
            self.fail("written outside")
        self.observer.compare(one.name, one.values, one.expected, one.tolerance)
        self.runs.small_only = self.observer.places > 0


def record(
    function: CheckFunction, attempt: Attempt, workers: WorkerPool, seconds: float = SECONDS
) -> Recording:
    """What a file leaves in a check. workers: see `known_mistake`."""
    for only_checked in (False, True):
        workers.ready()
        engines = Engines(time.monotonic() + seconds, only_checked=only_checked, ask_numba=False)
        runs = Runs(attempt, workers, engines)
        recorder = Recorder(attempt, runs)
        try:
            function(recorder)
        except EngineRefused:
            continue
        except CheckEnded as ended:
            return recorder.observer.recording(ended.diagnosis)
        except Exception:  # values that no check is written for
            return recorder.observer.recording(NOT_UNDERSTOOD)
        return recorder.observer.recording()
    return Recording(0, {}, NOT_UNDERSTOOD)


def known_mistake(
    function: CheckFunction, attempt: Attempt, workers: WorkerPool, patience: float = 1.0
) -> Diagnosis | None:
    """The known or generated mistake that leaves the same numbers as a file; None if none does.

    The file must have failed the check with wrong numbers. workers: see `WorkerPool.beside`.
    patience: factor for the time.
    """
    mistakes, check = read(attempt.lesson), attempt.check.name
    if not any(one.check == check for one in mistakes):
        return None
    recordings: list[Recording] = []
    for seed in PUBLIC_SEEDS:
        with_seed = attempt._replace(seed=seed, pictures=None)
        recordings.append(record(function, with_seed, workers, SECONDS * patience))
        named = look_up(check, recordings, mistakes, sure=len(recordings) > 1)
        if named is None and recordings[-1].places:  # the first seed is enough to say that
            return None
    return named
