"""Compare a result with what was expected: which elements differ, and which thread owns them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lessons.grading.explain.clues import NO_CLUES, Clues

MOST_SHOWN = 3  # wrong elements
ALMOST_ALL = 0.99  # of the elements that a pattern has to explain
# How the threads of a launch are laid over an array: ("grid", 1, 128) if thread i, in block
# i // 128, owns row i, and ("grid", 2, (16, 16)) if thread (x, y) owns element [y, x].
Threads = tuple[str, int, int | tuple[int, ...]]


class Diagnosis(NamedTuple):
    code: str  # a word or two, such as "transposed"
    sentence: str


def differing(got: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Where two arrays differ by more than `tolerance`, as bools; NaN differs from everything."""
    if got.dtype.kind in "iub" and expected.dtype.kind in "iub":
        return got != expected
    with np.errstate(invalid="ignore", over="ignore"):
        return ~(np.abs(got.astype(np.float64) - expected) <= tolerance)


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()


class Comparison:
    """The two arrays in float64, and what most patterns ask about them."""

    def __init__(
        self,
        expected: np.ndarray,
        got: np.ndarray,
        sentinel: float,
        tolerance: float,
        threads: Threads | None,
        clues: Clues = NO_CLUES,
    ) -> None:
        self.expected = expected.astype(np.float64)
        self.got = got.astype(np.float64)
        self.tolerance = tolerance
        self.threads = threads
        self.clues = clues
        self.sentinel = sentinel
        self.unwritten = self.got == sentinel
        self.wrong = ~self.close(self.got, self.expected)

    def of(self, expected: np.ndarray, got: np.ndarray) -> "Comparison":
        """The same of parts of both arrays."""
        return Comparison(expected, got, self.sentinel, self.tolerance, None)

    @property
    def written(self) -> np.ndarray:
        return ~self.unwritten

    def close(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(first - second) <= self.tolerance

    def explains(self, pattern: np.ndarray, room: float | None = None) -> bool:
        """Whether a result made by a mistake is (nearly) the one that came.

        What is right, and what the mistake would leave right, says nothing. room: as `tolerance`.
        """
        if pattern.shape != self.got.shape or not self.wrong.any():
            return False
        room = self.tolerance if room is None else room
        with np.errstate(invalid="ignore", over="ignore"):
            changed = ~(np.abs(pattern - self.expected) <= room)
            fits = np.abs(pattern - self.got) <= room
        telling = changed | self.wrong
        return bool(changed.any() and np.mean(fits[telling]) >= ALMOST_ALL)


def first_wrong(
    name: str,
    expected: np.ndarray,
    got: np.ndarray,
    tolerance: float,
    threads: Threads | None = None,
    sentinel: float | None = None,
    of_rows: Sequence[str] = (),
) -> list[str]:
    """Lines such as "gray[3, 5]: expected 0.41, got 0.12 (block (0, 0), thread (5, 3))"."""
    lines = []
    for place in np.argwhere(differing(got, expected, tolerance))[:MOST_SHOWN]:
        index = tuple(int(i) for i in place)
        value = got[index]
        wanted, came = with_enough_digits(float(expected[index]), float(value))
        what = "never written" if value == sentinel else f"got {came}"
        where = f"[{', '.join(map(str, index))}]" if index else ""
        whose = of_rows[index[0]] if of_rows else owner(index, threads)
        lines.append(f"{name}{where}: expected {wanted}, {what}{whose}")
    return lines


def with_enough_digits(first: float, second: float) -> tuple[str, str]:
    """Both numbers as text, which differs if they do."""
    for digits in (6, 9, 12, 17):
        texts = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def owner(index: tuple[int, ...], threads: Threads | None) -> str:
    """The block and thread that own an element, as " (block 0, thread 5)"; "" if unknown."""
    if threads is None or len(index) < threads[1]:
        return ""
    shape = block_shape(threads)
    places = index[: len(shape)]
    # CUDA counts x first, an array its rows first.
    block = tuple(place // size for place, size in zip(places, shape, strict=True))[::-1]
    thread = tuple(place % size for place, size in zip(places, shape, strict=True))[::-1]
    if len(shape) == 1:
        return f" (block {block[0]}, thread {thread[0]})"
    return f" (block {block}, thread {thread})"


def block_shape(threads: Threads) -> tuple[int, ...]:
    """How many elements one block owns along each leading axis of an array, rows first."""
    _, dimensions, block = threads
    if isinstance(block, int):
        return (block,)
    return tuple(reversed(block[:dimensions]))
