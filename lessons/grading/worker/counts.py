"""How often a kernel has touched each array: what a budget is compared with.

The checked simulator counts, in the worker; here, in the judge, a check asks for the totals.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lessons.grading.worker.protocol import whole
from lessons.grading.worker.reported import SHARED, Row
from lessons.lab.simulator.traffic import SUMS, Traffic

MOST_ROWS = 10_000


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
    return [
        Row(whole(array), whole(line), {field: whole(totals[field]) for field in SUMS})
        for array, line, totals in received
    ]
