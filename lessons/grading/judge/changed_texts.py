"""Runs checks on changed texts of a student's file, in a worker of their own; for no points."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lessons.course.lesson import Check, Lesson
from lessons.grading.explain.repairs.numbers import Numbers
from lessons.grading.explain.repairs.search import Held, OutOfTries, what_runs
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.result import Attempt, CheckEnded
from lessons.grading.judge.runs import Engines, Runs
from lessons.grading.judge.verdict import Compared, NoDemands, Terse
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import Beside, WorkerError, WorkerStopped, WorkerTimeout
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.outcome import Counts

PASSED = ""  # in place of a diagnosis
STRANGE = "strange"  # values that no check is written for
# Of these another mistake is told, or none: they say nothing of a changed text.
OF_ANOTHER_KIND = ("slow", "double", "endless or too slow", "waits")
OF_DOUBLES = ("slow", "double")  # but who has none is not told to make some


class Enough(Exception):
    """The one run that is asked for is over."""


class Skipping(Runs):
    """Of the runs of a check only one; or all, and which of them came out wrong, and when."""

    def __init__(
        self,
        attempt: Attempt,
        workers: WorkerPool,
        until: float,
        only: int,
        watch: Beside | None,
    ) -> None:
        engines = Engines(until, only_checked=True, ask_numba=False, watch=watch)
        super().__init__(attempt, workers, engines)
        self.only = only
        self.seconds: list[float] = []
        self.wrong: set[int] = set()

    @property
    def number(self) -> int:
        return len(self.seconds) - 1

    def run(self, *arguments: Any, **how: Any) -> Counts:
        self.seconds.append(0.0)
        if self.number > self.only >= 0:
            raise Enough
        if self.number != self.only >= 0:
            return Counts(arguments[2], ())
        began = time.monotonic()
        # What is counted takes half of the time, and nobody looks at it here.
        found = super().run(*arguments, **{**how, "measure": False})
        self.seconds[-1] = time.monotonic() - began
        return found


class OfRuns(NoDemands):
    """Looks at the numbers that `Skipping` runs have left."""

    runs: Skipping

    def decide_on(self, one: Compared) -> None:
        runs = self.runs
        if runs.only in (runs.number, -1) and (not one.guards_intact or one.wrong.any()):
            runs.wrong.add(runs.number)


class Runner(NamedTuple):
    """What it takes to run checks of a lesson on changed texts."""

    lesson: Lesson
    submission: Submission  # whose text is changed
    pool: WorkerPool

    def run(
        self, function: CheckFunction, check: Check, text: str, seed: int, until: float, quick: bool
    ) -> str:
        """With what diagnosis a check ends: "" if it passes.

        until: seconds of `time.monotonic()`. quick: without asking Numba's compiler.
        """
        self.pool.ready()
        text = what_runs(text, check.needs, self.lesson.blank)
        changed = self.submission._replace(text=text.encode("utf-8"))
        attempt = Attempt(self.lesson, check, changed, seed)
        runs = Runs(attempt, self.pool, Engines(until, only_checked=True, ask_numba=not quick))
        case = Terse(attempt, runs)
        try:
            function(case)
        except CheckEnded as ended:
            return ended.diagnosis
        except Exception:  # of a worker, or values that no check is written for
            return STRANGE
        return PASSED

    def wrong_runs(
        self, function: CheckFunction, check: Check, text: str, seed: int, until: float,
        only: int, watch: Beside | None = None,
    ) -> list[int]:  # fmt: skip
        """The numbers of the runs that leave wrong numbers, the quickest first.

        only: of this run alone, -1 for all. watch: see `computed`. The rest as for `run`.
        """
        text = what_runs(text, check.needs, self.lesson.blank)
        changed = self.submission._replace(text=text.encode("utf-8"))
        attempt = Attempt(self.lesson, check, changed, seed)
        runs = Skipping(attempt, self.pool, until, only, watch)
        try:
            self.pool.ready()
            function(OfRuns(attempt, runs))
        except Enough:
            pass
        except Exception:  # a finding, an error, or what needs all runs
            runs.wrong.add(runs.number)
        return sorted(runs.wrong - {-1}, key=lambda number: runs.seconds[number])


@dataclass
class FailedCheck:
    """Runs the check that has failed; raises `OutOfTries` when the time is up.

    seconds: for all texts, from the first on. longest: for one. first: the number of the run that
    a changed text has to come out of right before all of them are run; -1 if none is known.
    """

    runner: Runner
    function: CheckFunction
    check: Check
    seed: int
    seconds: float
    longest: float
    first: int = -1
    looked_at: int = -1  # the number of the run that `computed` tells of
    end: float | None = None

    def computed(self, text: str, beside: Beside = ()) -> Numbers:
        """What it computes in a run that fails, if that can be told. beside: as `Watched`."""
        until = time.monotonic() + self.longest
        of_one = self.function, self.check, text, self.seed, until, self.looked_at
        if self.looked_at >= 0:
            self.runner.wrong_runs(*of_one, watch=beside)
            with suppress(WorkerError, WorkerStopped, WorkerTimeout):
                self.runner.pool.ready()
                worker = self.runner.pool.worker or self.runner.pool.start()
                return Numbers(*worker.computed(until))
        return Numbers([], np.empty((0, 0)))

    def passes(self, text: str, sure: bool) -> bool:
        """Whether it passes; sure: with other random numbers, and asking Numba's compiler."""
        now = time.monotonic()
        self.end = self.end or now + self.seconds
        if now > self.end and not sure:  # one that has passed is looked at to the end
            raise OutOfTries
        until, seed = now + self.longest, self.seed + sure
        of_one = self.function, self.check, text, seed, until
        if self.first >= 0 and not sure and self.runner.wrong_runs(*of_one, self.first):
            return False
        return self.runner.run(*of_one, quick=not sure) == PASSED


@dataclass
class OtherChecks:
    """Runs the other checks of the functions that a failed one has run.

    functions: name -> check. mine: the text of the student's file. most: runs, and seconds: for all
    of them, that are left; when they are used up, a text is not doubted.
    """

    runner: Runner
    functions: Mapping[str, CheckFunction]
    failed: Check
    mine: str
    seed: int
    most: int
    seconds: float
    longest: float
    known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks = [check for check in self.runner.lesson.checks if self.is_asked(check)]
        self.checks = sorted(checks, key=lambda check: check.timeout)  # the quick ones first

    def is_asked(self, check: Check) -> bool:
        other = check.name != self.failed.name and not check.gpu
        return other and not set(check.needs).isdisjoint(self.failed.needs)

    def held(self, text: str) -> Held:
        """What they say of a text that passes the failed check."""
        found = Held.ALL
        for check in self.checks:
            ended = self.ended(check, text)
            if ended in OF_DOUBLES and self.ended(check, self.mine) == PASSED:
                return Held.BREAKS
            if ended in (None, PASSED, *OF_ANOTHER_KIND):
                continue
            if self.ended(check, self.mine) == PASSED:
                return Held.BREAKS
            if set(check.needs) <= set(self.failed.needs):
                found = Held.SOME
        return found

    def ended(self, check: Check, text: str) -> str | None:
        """As `Runner.run`; None if there is no time for it."""
        key = check.name, text
        if key not in self.known:
            if self.most <= 0 or self.seconds <= 0:
                return None
            began = time.monotonic()
            function = self.functions[check.name]
            until = began + min(self.longest, self.seconds + 1.0)
            self.known[key] = self.runner.run(function, check, text, self.seed, until, quick=True)
            self.most -= 1
            self.seconds -= time.monotonic() - began
        return self.known[key]


def checks_beside(function: CheckFunction) -> dict[str, CheckFunction]:
    """name -> check, of all that stand in the same file."""
    found = (one for one in function.__globals__.values() if hasattr(one, "check_name"))
    return {one.check_name: one for one in found}
