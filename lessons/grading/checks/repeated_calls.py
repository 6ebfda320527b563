"""The calls that a check makes of a student's functions, to be made again with other inputs."""

import copy
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lessons.grading.advice.comparison import differing
from lessons.grading.checks.answers import first_of_rows
from lessons.grading.checks.case import Case
from lessons.grading.checks.verdict import CheckEnded
from lessons.grading.exchange.counts import Counts
from lessons.grading.exchange.output import Output
from lessons.grading.influence.inputs import Change, parts_of, with_change
from lessons.grading.influence.measure import OutOfRuns, Results
from lessons.grading.supervisor.worker_errors import (
    WorkerError,
    WorkerLost,
    WorkerStopped,
    WorkerTimeout,
)

RUN, CONDUCT, CALL = "run", "conduct", "call"
SECONDS_FOR_FIRST, SECONDS_FOR_ONE = 20.0, 3.0  # the first is compiled
REFUSALS = "NativeRefusal", "NativeCompileError"


class Request(NamedTuple):
    """A call of a student's function that a check has made."""

    kind: str  # RUN, CONDUCT or CALL
    function: str
    arguments: tuple[object, ...]  # as they were before it
    originals: tuple[object, ...]  # those of the check itself, which it looks at afterwards


class WrongResult(NamedTuple):
    """What a check has found to be wrong."""

    got: object
    expected: np.ndarray
    name: str
    tolerance: float


class WatchedCase(Case):
    """A case that remembers which calls a check makes, and what it has compared last."""

    def watch(self) -> None:
        self.brief = self.quick = True
        self.requests: list[Request] = []
        self.compared: WrongResult | None = None
        self.of_first_wrong: Request | None = None

    def run_on(
        self,
        backend: str,
        function: str,
        arguments: tuple[object, ...],
        measure: bool = False,
        orders: Sequence[str | int] = (),
        conducts: bool = False,
    ) -> Counts:
        self.remember(CONDUCT if conducts else RUN, function, arguments)
        return super().run_on(backend, function, arguments, measure, orders, conducts)

    def call(self, function: str, *arguments: object) -> object:
        self.remember(CALL, function, arguments)
        return super().call(function, *arguments)

    def remember(self, kind: str, function: str, arguments: tuple[object, ...]) -> None:
        self.compared = None
        self.requests.append(Request(kind, function, copy.deepcopy(arguments), arguments))

    def expect(
        self,
        got: object,
        expected: ArrayLike,
        name: str = "result",
        *more: object,
        tolerance: float | None = None,
        **others: object,
    ) -> None:
        wanted = np.asarray(expected)
        allowed = self.usual_tolerance(wanted) if tolerance is None else tolerance
        self.compared = WrongResult(got, wanted, name, allowed)
        self.of_first_wrong = self.call_of_first_wrong(self.compared)
        super().expect(got, expected, name, *more, tolerance=tolerance, **others)  # type: ignore

    def call_of_first_wrong(self, compared: WrongResult) -> Request | None:
        """Of many calls that are compared at once, the first whose answer is wrong."""
        values = np.asarray(compared.got) if self.answers else np.empty(0)
        if values.shape != compared.expected.shape or values.dtype.kind not in "fiub":
            return None
        begin = first_of_rows(values, self.answers)
        wrong = np.argwhere(differing(values, compared.expected, compared.tolerance))
        if begin is None or not len(wrong):
            return None
        return self.requests[begin - len(self.answers) + int(wrong[0][0])]


class Repeated:
    """One file, which is asked for the same call again and again, with other inputs."""

    def __init__(self, case: WatchedCase, request: Request, names: Sequence[str]) -> None:
        self.case = case
        self.request = request
        self.names = names
        self.engine = "native"
        self.seconds = SECONDS_FOR_FIRST
        self.lost = False  # whether its worker was: it is not tried again

    def __call__(self, change: Change | None) -> Results | None:
        """What the call leaves, by the names of its results; None if it fails.

        Raises `OutOfRuns` if it did not end in time, or ended its worker.
        """
        if self.lost:
            raise OutOfRuns
        try:
            return self.results(change)
        except (WorkerLost, WorkerStopped, WorkerTimeout):
            self.lost = True
            raise OutOfRuns from None
        except CheckEnded:
            return None
        except WorkerError as error:
            if error.kind not in REFUSALS or self.engine == "checked":
                return None
        self.engine = "checked"
        return self(change)

    def results(self, change: Change | None) -> Results | None:
        request = self.request
        arguments = copy.deepcopy(request.arguments)
        if change:
            arguments = with_change(request.arguments, change)
        worker = self.case.loaded_worker()
        deadline = time.monotonic() + self.seconds
        if request.kind == CALL:
            value = worker.call(request.function, arguments, deadline)
            return named(value, f"{request.function}(...)")
        outcome = worker.run(
            request.function, arguments, self.engine, deadline,
            conducts=request.kind == CONDUCT, ask_numba=False, in_turn=True,
        )  # fmt: skip
        self.seconds = SECONDS_FOR_ONE
        if outcome.findings:
            return None
        for original, returned in outcome.arrays:
            if isinstance(original, Output):
                original.buffer = returned
        return {name: output.array for name, output in outputs_in(arguments, self.names)}


def named(value: object, name: str) -> dict[str, np.ndarray]:
    """The arrays and numbers that a function has returned."""
    parts = {inner: np.asarray(part) for _, inner, part in parts_of(value, (), name)}
    return {inner: part for inner, part in parts.items() if part.dtype.kind in "iufb"}


def outputs_in(arguments: Sequence[object], names: Sequence[str]) -> list[tuple[str, Output]]:
    """(name, output) of all that are among the arguments."""
    return [
        (inner, value)
        for argument, name in zip(arguments, names, strict=False)
        for _, inner, value in parts_of(argument, (), name)
        if isinstance(value, Output)
    ]
