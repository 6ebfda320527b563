"""What a checked run records: for the picture of its memory accesses, and for the replay."""

from collections import deque
from typing import NamedTuple

import numpy as np

from ..source import Source

# Of a long run, the first steps and the last before each finding are kept.
MOST_FIRST_STEPS, MOST_LATEST_STEPS = 1000, 160
# Of an instruction of many threads, those of the first and of the last.
MOST_FIRST_THREADS, MOST_LAST_THREADS = 3072, 1024


class AccessEvent(NamedTuple):
    """One instruction that touches an array, executed by n threads in step."""

    phase: int  # 0, 1, 2, ...: how many barriers came before
    order: int  # running number of the instruction: the time order
    line: int  # number of the source line
    source: str  # text of that line, stripped
    array: str  # the name the kernel gives the array
    space: str  # "global", "shared" or "local"
    kind: str  # "read", "write", "atomic", or "outside" if it misses the array
    shape: tuple[int, ...]  # of the array; for one block if shared, for one thread if local
    block: np.ndarray  # (n,) int: linear index of the block
    thread: np.ndarray  # (n,) int: linear index of the thread within its block
    element: np.ndarray  # (n,) int: row-major index of the element within the array; -1: outside
    problem: str = ""  # what was found here, if anything
    marked: tuple[int, ...] = ()  # which of the n threads it is about


class ArrayFacts(NamedTuple):
    """What the replay has to know of an array; one per memory of a run."""

    name: str  # as the kernel calls it
    space: str  # "global", "shared" or "local"
    shape: tuple[int, ...]  # of the array; for one block if shared, for one thread if local
    dtype: np.dtype
    address: int  # of the first element, in bytes
    strides: tuple[int, ...] | None  # bytes along each axis; None: row by row, without gaps
    initial: np.ndarray | None  # its first elements when the kernel began; None: unknown
    place: range  # its bytes in the memory of this process, to see which arrays share some


class Step(NamedTuple):
    """One thing that n threads do together, as the replay shows it."""

    kind: str  # as in AccessEvent; or "branch", "barrier", "grid barrier" or "return"
    phase: int  # as in AccessEvent
    source: Source  # the function it happens in
    line: int
    array: int  # which of the recording's arrays; -1: none
    thread: np.ndarray  # (n,) int: their numbers in the launch
    # (n,) int: number of the element, row by row, one instance after another; -1 where it misses
    # the array. Of a branch 1 for the threads that take it, else 0; None for the other kinds
    element: np.ndarray | None
    threads: int  # how many took part, of which n are kept
    findings: tuple[int, ...]  # numbers of the findings made here
    marked: tuple[int, ...]  # elements that the findings are about
    values: list[np.ndarray]  # [(n,)]: what the elements are afterwards; empty where unknown
    wanted: np.ndarray | None = None  # (n, dimensions) int: the indices that miss the array


class Recording:
    """The steps of a run in time order, with a limit on what it keeps.

    findings_seen: how many findings there were before the next step. before: how many steps were
    left out before each of the steps that are kept.
    """

    def __init__(self, findings_seen: int = 0) -> None:
        self.findings_seen = findings_seen
        self.arrays: list[ArrayFacts] = []
        self.numbers: dict[object, int] = {}  # memory -> the number of its array
        self.steps: list[Step] = []
        self.before: list[int] = []
        self.latest: deque[Step] = deque(maxlen=MOST_LATEST_STEPS)
        self.left_out = 0  # since the last step that is kept
        # (memory, elements, where to put their values) of the step that is being executed
        self.unsettled: tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None = None

    def add(self, step: Step) -> None:
        if len(self.steps) < MOST_FIRST_STEPS and not self.latest:
            self.keep(step)
            return
        if len(self.latest) == MOST_LATEST_STEPS:
            self.left_out += 1
        self.latest.append(step)
        if step.findings:
            self.keep_latest()

    def settle(self) -> None:
        """The last step is over: look what it has left in the elements it touched."""
        if self.unsettled is not None:
            data, element, values = self.unsettled
            values.append(data[element])
            self.unsettled = None

    def finish(self) -> None:
        """The run is over. May be called again."""
        self.settle()
        self.keep_latest()

    def keep(self, step: Step) -> None:
        self.steps.append(step)
        self.before.append(self.left_out)
        self.left_out = 0

    def keep_latest(self) -> None:
        """At a finding, and at the end: keep what came just before."""
        for step in self.latest:
            self.keep(step)
        self.latest.clear()
