"""What came of a run in the worker, as the judge sees it."""

from typing import Any, NamedTuple

import numpy as np

from lessons.grading.worker.counts import Counts
from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import whole
from lessons.grading.worker.stage_calls import StageCall
from lessons.grading.worker.text import printable

MOST_FINDINGS = 100


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
    calls: list[StageCall]  # of stages, in lesson 9
    was_native: bool  # whether a launch ran on the native engine


def read_findings(received: Any) -> list[Found]:
    """The findings in a reply. Raises `TypeError` or `ValueError` for nonsense."""
    return [
        Found(printable(str(kind)[:100]), whole(line), printable(str(message)[:2000]), bool(own))
        for kind, line, message, own in received[:MOST_FINDINGS]
    ]
