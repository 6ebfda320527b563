"""Run the file of a case on the checked simulator; it is ours: no student's file comes here."""

import linecache
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.worker.output import Output
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.run import checked_run

FILE = "<case>"
BUDGET = 800  # rounds of loops before a kernel counts as endless
TOLERANCE = 2e-4  # times the largest number that is expected, if that is more than 1


class Ran(NamedTuple):
    """What came of a run.

    reports: of the launches, up to the first with a finding. wrong: output -> which elements are.
    error: of the host, such as a launch of no blocks. ended: whether no launch was left out.
    """

    reports: list[Report]
    arguments: dict[str, Any]
    expected: dict[str, np.ndarray]
    wrong: dict[str, np.ndarray]
    error: str = ""
    ended: bool = True

    @property
    def findings(self) -> list[Finding]:
        return [finding for report in self.reports for finding in report.problems]

    @property
    def ok(self) -> bool:
        return not self.findings and not self.error and not any(map(np.any, self.wrong.values()))


class Stopped(Exception):
    """A launch has findings: what comes after it is of no interest."""


def loaded(text: str) -> types.ModuleType:
    """The module of a file's text, with its lines where the simulator looks for them."""
    module = types.ModuleType("case")
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    exec(compile(text, FILE, "exec"), vars(module))  # a text that this room has written
    return module


def run(
    text: str,
    launch: str,
    arguments: Mapping[str, Any],
    expected: Mapping[str, np.ndarray],
    **options: Any,
) -> Ran:
    """Call the launch function of a file's text on these arguments, and compare what it leaves.

    options: of `checked_run`. The outputs are changed.
    """
    reports: list[Report] = []
    options = {"measure": False, "budget": BUDGET, "ask_numba": False, "negative": False, **options}

    def launcher(kernel: Callable, blocks: Any, threads: Any, *values: object) -> None:
        if reports and not reports[-1].ok:
            raise Stopped
        reports.append(checked_run(kernel, blocks, threads, *values, **options))

    given = [one.array if isinstance(one, Output) else one for one in arguments.values()]
    error, ended = "", True
    try:
        getattr(loaded(text), launch)(*given, launch=launcher)
    except Stopped:
        ended = False
    except Exception as problem:  # whatever a broken launch function may raise
        error = f"{type(problem).__name__}: {problem}"
    wrong = {name: differing(arguments[name], right) for name, right in expected.items()}
    return Ran(reports, dict(arguments), dict(expected), wrong, error, ended)


def differing(got: Output, right: np.ndarray) -> np.ndarray:
    """Which elements of an output are wrong."""
    right = np.asarray(right)
    if right.dtype.kind in "iu":
        return got.array.astype(np.int64) != right.astype(np.int64)
    room = TOLERANCE * max(1.0, float(np.abs(right).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return ~(np.abs(got.array.astype(float) - right) <= room)
