"""What came of a run in the worker, as the judge sees it: findings, arrays, counts of accesses.

The checked simulator counts, in the worker, how often a kernel has touched each array; here, in the
judge, a check asks for the totals, which a budget is compared with.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import whole
from lessons.grading.worker.reported import SHARED, Row
from lessons.grading.worker.text import printable
from lessons.lab.simulator.traffic import SUMS, Traffic

MOST_ROWS = 10_000
MOST_FINDINGS = 100


class Counts:
    """The counts of one run. originals: the arrays and outputs that were sent, in their order."""

    def __init__(self, originals: Sequence[object], rows: Iterable[Row]) -> None:
        self.originals = list(originals)
        self.rows = list(rows)

    def of(self, *arrays: object) -> Traffic:
        """What all lines together have done to these arrays of global memory."""
        wanted = {self.number(array) for array in arrays}
        return total(row for row in self.rows if row.array in wanted)

    def shared(self) -> Traffic:
        """What all lines together have done to shared memory."""
        return total(row for row in self.rows if row.array == SHARED)

    def everything(self) -> Traffic:
        return total(self.rows)

    def busiest_line(self, field: str, *arrays: object) -> int:
        """The source line with most of `field`, such as "reads", on these arrays; 0 if none has.

        Without an array: on shared memory.
        """
        wanted = {self.number(array) for array in arrays} if arrays else {SHARED}
        rows = [row for row in self.rows if row.array in wanted]
        busiest = max(rows, key=lambda row: row.totals[field], default=None)
        return busiest.line if busiest and busiest.totals[field] else 0

    def number(self, array: object) -> int:
        for number, other in enumerate(self.originals):
            if other is array:
                return number
        raise ValueError("this array was not sent to the kernel")


def total(rows: Iterable[Row]) -> Traffic:
    result = Traffic()
    for row in rows:
        result.add(Traffic("", **row.totals))
    return result


def read_rows(received: Any) -> list[Row]:
    """The rows in a worker's reply. Raises `ValueError` or `TypeError` for nonsense."""
    if len(received) > MOST_ROWS:
        raise ValueError("more rows than any kernel has")
    rows = [
        Row(whole(array), whole(line), {field: whole(totals[field]) for field in SUMS})
        for array, line, totals in received
    ]
    for row in rows:  # an atomic reads a number, and writes it
        where = "shared_" if row.array == SHARED else ""
        for field in ("reads", "writes"):
            row.totals[where + field] += row.totals["atomics"]
    return rows


class Found(NamedTuple):
    """A finding of the checked simulator."""

    kind: str
    line: int
    message: str
    own: bool  # whether the line is one of the student's file


class Outcome(NamedTuple):
    findings: list[Found]
    doubles: list[Found]  # where double precision is computed with
    counts: Counts
    arrays: list[tuple[np.ndarray | Output, np.ndarray]]  # what was sent, and what came back
    calls: list[str]  # of stages, in lesson 9
    was_native: bool  # whether a launch ran on the native engine


def read_findings(received: Any) -> list[Found]:
    """The findings in a reply. Raises `TypeError` or `ValueError` for nonsense."""
    return [
        Found(printable(str(kind)[:100]), whole(line), printable(str(message)[:2000]), bool(own))
        for kind, line, message, own in received[:MOST_FINDINGS]
    ]
