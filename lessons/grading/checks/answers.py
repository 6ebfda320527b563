"""Which call of a function has returned which row of what a check compares."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST = 4096  # rows for which the calls are looked for


class Returned(NamedTuple):
    """A call of a student's function as plain Python, and what it has returned."""

    call: str  # as a message shows it
    value: object
    arguments: tuple[object, ...] = ()


def calls_of_rows(values: np.ndarray, answers: Sequence[Returned]) -> list[str]:
    """The calls that have returned the rows of an array, one by one; none if they have not."""
    begin = first_of_rows(values, answers)
    return [] if begin is None else [one.call for one in answers[begin : begin + len(values)]]


def first_of_rows(values: np.ndarray, answers: Sequence[Returned]) -> int | None:
    """The place of the call that has returned the first row, if others follow for all rows."""
    if not values.ndim or not 1 < len(values) <= MOST:
        return None
    for begin in range(len(answers) - len(values) + 1):
        part = answers[begin : begin + len(values)]
        if all(is_row(row, answer) for row, answer in zip(values, part, strict=True)):
            return begin
    return None


def is_row(row: np.ndarray, answer: Returned) -> bool:
    try:
        returned = np.asarray(answer.value, np.float64)
    except (TypeError, ValueError):
        return False
    return np.array_equal(returned, np.asarray(row, np.float64), equal_nan=True)
