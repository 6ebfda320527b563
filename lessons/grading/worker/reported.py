"""What the worker tells the judge: of a report of the checked simulator, of an error."""

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lessons.lab.simulator.arguments import arrays_of
from lessons.lab.simulator.findings import Finding as LabFinding
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.traffic import SUMS

SHARED, OTHER = -1, -2  # in place of the number of an array

DOUBLE_ARRAY = (
    "an argument is a float64 array; most GPUs compute float32 32 or 64 times faster: "
    "pass array.astype(np.float32)"
)

Finding = tuple[str, int, str, bool]  # kind, line, message, whether of the student's file


class Row(NamedTuple):
    """What one source line does to one array."""

    array: int  # number of the array that was sent; else SHARED or OTHER
    line: int  # of the student's file; 0 for one of another
    totals: dict[str, int]  # the fields of `Traffic` that are sums


def problems(report: Report | None, path: str) -> list[Finding]:
    """What a checked run found, but advice. path: of the student's file, here and below."""
    return [] if report is None else [as_sent(finding, path) for finding in report.problems]


def doubles(report: Report, path: str) -> list[Finding]:
    """Where a kernel computes in double precision: advice elsewhere, a point in this course."""
    found = [as_sent(finding, path) for finding in report.findings if finding.topic == "double"]
    if report.doubles_asked_for:
        line = report.source.tree.lineno
        return [("slow", line, DOUBLE_ARRAY, True), *found]
    return found


def as_sent(finding: LabFinding, path: str) -> Finding:
    return finding.kind, finding.line, str(finding.message), finding.file == path


def describe(error: BaseException, path: str | None) -> dict[str, Any]:
    """{"type", "message", "line"} of an exception, with the line of the student's file."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == path:
            line = number
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    try:
        message = str(error)
    except Exception:
        message = "(it has no message)"
    lines = [part.strip() for part in message.splitlines() if part.strip()]
    return {"type": type(error).__name__, "message": " ".join(lines)[:500], "line": line}


def rows_of(
    report: Report, arguments: Sequence[object], sent: Sequence[np.ndarray], path: str
) -> list[Row]:
    """The rows of one launch. arguments: the kernel's. sent: the arrays of the check."""
    numbers = {
        name: number_of(array, sent) for name, array in arrays_of(report.source, arguments).items()
    }
    rows = []
    for (file, line, name), traffic in report.counted.items():
        is_shared = traffic.shared_requests > 0
        number = SHARED if is_shared else numbers.get(name.partition("[")[0], OTHER)
        own_line = line if file == path else 0
        rows.append(Row(number, own_line, {field: getattr(traffic, field) for field in SUMS}))
    return rows


def number_of(array: np.ndarray, sent: Sequence[np.ndarray]) -> int:
    for number, other in enumerate(sent):
        if np.may_share_memory(array, other):
            return number
    return OTHER
