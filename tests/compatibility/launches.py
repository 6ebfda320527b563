"""Run a kernel of numba-cuda's tests in one of the lab's engines, and note how it went."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ENGINES = ("checked", "native")
IGNORED = ("slow",)  # findings that say how, not what, a kernel computes


class LabFailure(Exception):
    """The lab did not run a kernel that numba-cuda has compiled."""


class Launched(NamedTuple):
    """One launch: which kernel, and what was wrong, or "" if it ran."""

    kernel: str
    problem: str


class Launches:
    """The launches of the test that is running."""

    def __init__(self, engine: str) -> None:
        self.run_kernel = {"checked": run_checked, "native": run_native}[engine]
        self.launched: list[Launched] = []

    def launch(self, kernel: Any, arguments: list, grid: Any, block: Any, shared: int) -> None:
        """What `stand_in.install` wants. Raises `LabFailure`."""
        function = kernel.py_func
        name = f"{function.__qualname__}:{function.__code__.co_firstlineno}"
        try:
            # A kernel of numba-cuda-mlir tells by what it is which compiler to ask.
            run = kernel if hasattr(kernel, "targetoptions") else function
            problem = self.run_kernel(run, arguments, grid, block, shared)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            self.launched.append(Launched(name, problem))
            raise LabFailure(problem) from error
        self.launched.append(Launched(name, problem))


def run_checked(function: Callable, arguments: list, grid: Any, block: Any, shared: int) -> str:
    from lessons.lab import checked_run

    report = checked_run(
        function, grid, block, *arguments, measure=False, dynamic_shared=int(shared)
    )
    for finding in report.findings:
        if finding.kind not in IGNORED and not finding.advice:
            return f"{finding.kind}: {finding.message}"
    return ""


def run_native(function: Callable, arguments: list, grid: Any, block: Any, shared: int) -> str:
    from lessons.lab import native

    with np.errstate(all="ignore"):
        native(function)[grid, block, 0, int(shared)](*arguments)
    return ""
