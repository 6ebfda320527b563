"""What atomics do: threads change memory one after the other, and each sees what it finds."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

# (old, new, position of the thread) -> what an atomic leaves; all are NumPy scalars.
Operation: TypeAlias = Callable[[Any, Any, Any], Any]

FEW = 8


def atomic_add(old: Any, new: Any, position: Any) -> Any:
    return old + new


class Swap:
    """The `Operation` of a compare-and-swap. expected: (team.size,) what each thread looks for."""

    def __init__(self, expected: np.ndarray) -> None:
        self.expected = expected

    def __call__(self, old: Any, new: Any, position: Any) -> Any:
        return new if old == self.expected[position] else old


def change_in_turn(
    data: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    operation: Operation,
    positions: np.ndarray,
) -> np.ndarray:
    """Change data[place] with each value in turn. Returns (n,) what each thread found there.

    places, values, positions: (n,).
    """
    if len(places) > FEW and (places == places[0]).all():
        if operation is atomic_add:
            return add_to_one(data, int(places[0]), values)
        if isinstance(operation, Swap):
            return swap_one(data, int(places[0]), values, operation.expected[positions])
    found = np.empty(len(places), data.dtype)
    for number, (place, position) in enumerate(zip(places, positions, strict=True)):
        found[number] = data[place]
        data[place] = operation(data[place], values[number], position)
    return found


def add_to_one(data: np.ndarray, place: int, values: np.ndarray) -> np.ndarray:
    """All threads add to one element: they find the running sums, rounded after each step."""
    sums = np.concatenate([data[place : place + 1], values])
    np.add.accumulate(sums, out=sums, dtype=data.dtype)
    data[place] = sums[-1]
    return sums[:-1]


def swap_one(data: np.ndarray, place: int, values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """All threads compare and swap one element: between two that succeed, all find the same."""
    found = np.empty(len(values), data.dtype)
    begin = 0
    while begin < len(values):
        matches = np.flatnonzero(expected[begin:] == data[place])
        end = begin + int(matches[0]) + 1 if len(matches) else len(values)
        found[begin:end] = data[place]
        if len(matches):
            data[place] = values[end - 1]
        begin = end
    return found
