"""What a kernel has computed: each number of each expression, by thread."""

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.exchange.protocol import whole
from lessons.grading.exchange.text import printable

Node = ast.expr | ast.AugAssign
Place = tuple[int, int, int, int]  # line and column where an expression begins, and where it ends

MOST_PLACES = 1000
LONGEST_NAME = 100  # characters of a thread's name


class Series(NamedTuple):
    """The numbers that one expression had, one after another.

    threads: (n,) int64, by number in the launch; of one thread in the order of time. values: (n,),
    of the type that the expression has.
    """

    place: Place
    threads: np.ndarray
    values: np.ndarray


class Replaced(NamedTuple):
    """The number that differs most from the one that was put in its place."""

    thread: str  # such as "thread 3 of block 1"
    turn: int  # how many numbers the expression had in this thread before
    was: float
    now: float


def place_of(node: Node) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def read_series(received: Any, arrays: Sequence[np.ndarray]) -> list[Series]:
    """What a worker has sent: places, and two arrays for each. Raises `ValueError` for nonsense."""
    if len(received) > MOST_PLACES or len(arrays) != 2 * len(received):
        raise ValueError("other arrays than places")
    found = []
    for number, place in enumerate(received):
        line, column, last_line, last_column = map(whole, place)
        threads, values = arrays[2 * number : 2 * number + 2]
        plain = threads.dtype == np.int64 and values.dtype.kind in "biuf"
        if not plain or threads.ndim != 1 or threads.shape != values.shape:
            raise ValueError("no numbers of threads")
        found.append(Series((line, column, last_line, last_column), threads, values))
    return found


def read_replaced(received: Any) -> Replaced | None:
    if received is None:
        return None
    thread, turn, was, now = received
    return Replaced(printable(str(thread)[:LONGEST_NAME]), whole(turn), float(was), float(now))
