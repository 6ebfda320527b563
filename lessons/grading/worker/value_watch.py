"""Look at the numbers that a student's kernels compute, or put others in their place.

A judge asks for this where a check has failed, and nothing says why. It counts for no points.
"""

import ast

import numpy as np

from lessons.grading.exchange.computed import MOST_PLACES, Place, Replaced, Series, place_of
from lessons.lab.numba_types import Number
from lessons.lab.simulator.watch import Computed

KINDS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.IfExp, ast.Subscript,
    ast.Name, ast.Attribute, ast.AugAssign,
)  # fmt: skip
MOST_OF_ONE = 1 << 18  # numbers that are kept of an expression; of one with more, none are
MOST_IN_ALL = 1 << 23


class Keeper:
    """Keeps the numbers that kernels of one file compute. path: of the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kept: dict[Place, list[tuple[np.ndarray, np.ndarray]]] = {}
        self.count: dict[Place, int] = {}
        self.in_all = 0

    def __call__(self, computed: Computed) -> Number:
        if not is_watched(computed, self.path):
            return computed.value
        place = place_of(computed.node)
        positions = np.flatnonzero(computed.mask)
        number = len(positions)
        self.count[place] = self.count.get(place, 0) + number
        self.in_all += number
        parts = self.kept.setdefault(place, [])
        if self.count[place] > MOST_OF_ONE or self.in_all > MOST_IN_ALL:
            parts.clear()
            return computed.value
        value = computed.value
        numbers = value[positions] if isinstance(value, np.ndarray) else np.full(number, value)
        parts.append((computed.team.threads[positions], numbers))
        return value

    def series(self) -> list[Series]:
        """Of each expression, in the order in which they were first computed."""
        found = []
        for place, parts in list(self.kept.items())[:MOST_PLACES]:
            if parts and len({values.dtype for _, values in parts}) == 1:
                threads, values = (np.concatenate(part) for part in zip(*parts, strict=True))
                found.append(Series(place, threads, values))
        return found


class Replacer:
    """Puts other numbers in the place of those that one expression has.

    others: the threads and values that it gets; a thread that is not among them keeps its own.
    """

    def __init__(self, path: str, others: Series) -> None:
        self.path = path
        self.place = others.place
        order = np.argsort(others.threads, kind="stable")
        self.values = others.values[order]
        most = int(others.threads.max(initial=0)) + 2  # threads, and where the last one ends
        self.first = np.searchsorted(others.threads[order], np.arange(most))
        self.turns = np.zeros(most - 1, np.int64)  # how many numbers a thread has had so far
        self.most = 0.0  # by which a number differs from the one in its place
        self.replaced: Replaced | None = None

    def __call__(self, computed: Computed) -> Number:
        if not is_watched(computed, self.path) or place_of(computed.node) != self.place:
            return computed.value
        positions = np.flatnonzero(computed.mask & (computed.team.threads < len(self.turns)))
        threads = computed.team.threads[positions]
        turns = self.turns[threads]
        self.turns[threads] += 1
        which = self.first[threads] + turns
        there = which < self.first[threads + 1]
        before = computed.team.full(computed.value)
        after = before.copy()
        after[positions[there]] = self.values[which[there]]
        self.note(computed, before, after, positions, turns)
        same = np.ndim(computed.value) == 0 and (after == after[0]).all()
        return after[0] if same else after

    def note(
        self,
        computed: Computed,
        before: np.ndarray,
        after: np.ndarray,
        positions: np.ndarray,
        turns: np.ndarray,
    ) -> None:
        """Remember the number that differs most from the one in its place now."""
        was, now = before[positions].astype(np.float64), after[positions].astype(np.float64)
        with np.errstate(invalid="ignore"):
            by = np.nan_to_num(np.abs(was - now), nan=np.inf)
        if len(by) and by.max() > self.most:
            self.most = by.max()
            first = int(by.argmax())
            name = computed.launch.name_thread(computed.team.threads[positions[first]])
            self.replaced = Replaced(name, int(turns[first]), float(was[first]), float(now[first]))


def is_watched(computed: Computed, path: str) -> bool:
    return computed.source.filename == path and isinstance(computed.node, KINDS)
