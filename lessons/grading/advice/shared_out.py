"""Which numbers the threads take, if a first index, a step or an end is another one.

A sum, and a histogram too, tells little of what went into it. So this goes the other way round: it
lets the threads go over the numbers in each of many usual ways, and counts how often each is taken.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lessons.grading.advice.counted import numbers_in_words

MOST_STEPS = 400_000  # of all threads, in one way
MOST_RUNS = 3  # of numbers that are told one by one
OFTEN = {1: "once", 2: "twice"}


class Launch(NamedTuple):
    """How many numbers there are, and who is to share them."""

    size: int
    blocks: int
    threads: int  # per block
    each: int  # how many numbers a thread takes at most

    @property
    def everybody(self) -> int:
        return self.blocks * self.threads

    @property
    def piece(self) -> int:
        """How many numbers are meant for a block."""
        return self.threads * self.each


class Way(NamedTuple):
    """How the threads go over the numbers."""

    first: str  # where a thread begins, in words; "" for a way that is told by no words
    step: int
    rounds: int


def shared_out(launch: Launch) -> Iterator[tuple[np.ndarray, list[Way]]]:
    """How often each number is taken, for all ways that are wrong: (size,) whole numbers.

    With each of them the ways that take the numbers so often.
    """
    found: dict[bytes, tuple[np.ndarray, list[Way]]] = {}

    def note(times: np.ndarray, way: Way) -> None:
        found.setdefault(times.tobytes(), (times, []))[1].append(way)

    size, blocks, threads, each = launch
    steps = {1, each, blocks, threads, launch.everybody, launch.piece}
    steps |= {launch.everybody // 2, 2 * launch.everybody, launch.everybody + 1}
    shares = {-(-size // launch.everybody), -(-size // threads)}
    shares |= {size // launch.everybody, size // threads}
    begins = firsts(launch)
    for (name, first), step in itertools.product(begins.items(), sorted(steps)):
        for rounds in sorted({1, each - 1, each, each + 1, -(-size // step), *shares}):
            if 0 < rounds * launch.everybody <= MOST_STEPS:
                note(taken(first, step, rounds, size), Way(name, step, rounds))
    for first in begins.values():  # each thread's first, and then all of them
        note(1 + taken(first, 1, 1, size), Way("", 1, size))
    yield from (one for one in found.values() if (one[0] != 1).any())


def firsts(launch: Launch) -> dict[str, np.ndarray]:
    """Where each thread begins, by one formula and another: words -> (blocks * threads,)."""
    block, thread = (part.ravel() for part in np.indices((launch.blocks, launch.threads)))
    number = block * launch.threads + thread
    own = "its own number" if launch.blocks == 1 else "its number in the grid"
    inside = "its number in the block"
    shares = {launch.each, launch.size // launch.everybody, -(-launch.size // launch.everybody)}
    known = {
        own: number,
        inside: thread,
        f"{launch.piece} times its block, plus {inside},": block * launch.piece + thread,
        f"{launch.each} times its block, plus {inside},": block * launch.each + thread,
        f"{own} plus 1": number + 1,
        f"{own} plus {launch.everybody}, as many as there are threads,": number + launch.everybody,
        # All others begin beyond the end.
        f"{inside}, those of block 0 alone,": np.where(block == 0, thread, launch.size),
    }
    for share in sorted(shares - {0, 1}):
        known |= {f"{share} times {own}": number * share, f"{share} times {inside}": thread * share}
    different = {first.tobytes(): name for name, first in reversed(known.items())}
    return {name: known[name] for name in known if name in different.values()}


def taken(first: np.ndarray, step: int, rounds: int, size: int) -> np.ndarray:
    places = first[:, np.newaxis] + step * np.arange(rounds)
    return np.bincount(places[places < size], minlength=size)


def told(times: np.ndarray, launch: Launch, what: str, done: str, ways: Sequence[Way] = ()) -> str:
    """In words: which numbers are taken too often, or by nobody, and who does such a thing.

    what, done: such as "pixels" and "counted". ways: those that take them so often.
    """
    parts = [f"{which(times == 0, what)} {done} by no thread"] if (times == 0).any() else []
    often = sorted(set(times[times > 1].tolist()))
    if often:
        how = OFTEN.get(often[0], f"{often[0]} times")
        how = how if len(often) == 1 else f"{often[0]} to {often[-1]} times"
        parts.append(f"{which(times > 1, what)} {done} {how}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}.{cause_of(times, launch) or the_only_one(ways, launch)}"


def cause_of(times: np.ndarray, launch: Launch) -> str:
    """A sentence on what gives these times, where only one thing does; else nothing."""
    if (times > 1).any():
        return overlap_of_blocks(times, launch)
    missing = np.flatnonzero(times == 0)
    at_the_end = missing[0] + len(missing) == launch.size
    if at_the_end and len(missing) < launch.everybody:
        return " Does each thread take as many as all others? What is left over is needed, too."
    if at_the_end and missing[0] == launch.piece:
        return " Those are all but the first block's: where do the others begin and end?"
    return ""


def the_only_one(ways: Sequence[Way], launch: Launch) -> str:
    """What a thread does, if there is one way only to take the numbers so often; else nothing."""
    # Of a thread that takes a single number the step means nothing.
    different = {(way.first, way.step if way.rounds > 1 else 0) for way in ways}
    if len(different) != 1 or not ways[0].first:
        return ""
    first, step, rounds = ways[0]
    begins = f" It is so if a thread begins at {first} and"
    if rounds == 1:
        return f"{begins} takes that one alone."
    known = len(ways) == 1  # else it comes to the end in all of them
    if step > 1:
        told = f"{begins} takes {f'{rounds}, ' if known else 'all '}in steps of {step:,}."
        too_far = first.startswith(f"{launch.piece} times its block") and step == launch.threads
        return f"{told}{end_of_piece(launch)}" if too_far and rounds > launch.each else told
    row = f"{begins} takes {rounds if known else 'all'} in a row from there"
    if known and first.startswith("its"):
        return f"{row}: threads that take {rounds} in a row begin {rounds} apart."
    return f"{row}."


def end_of_piece(launch: Launch) -> str:
    return (
        f" A block's share ends where the next one's begins: after {launch.piece:,}, {launch.each} "
        "for each thread."
    )


def overlap_of_blocks(times: np.ndarray, launch: Launch) -> str:
    """Where blocks begin, and how far they go, if that alone makes them overlap."""
    begins = sorted({0, launch.each, launch.threads, launch.everybody} - {launch.piece})
    lengths = range(launch.threads, launch.size + launch.threads, launch.threads)
    found: dict[int, int] = {}
    for begin, length in itertools.product(begins, lengths):
        if launch.blocks > 1 and (covered(begin, length, launch) == times).all():
            found.setdefault(begin, length)
    if len(found) != 1:
        return ""
    ((begin, length),) = found.items()
    if begin == 0:
        return f" It is so if every block goes over the first {min(length, launch.size):,}."
    return (
        f" It is so if block b begins at number {begin} * b and goes over {length:,}: the next one "
        "begins too early."
    )


def covered(begin: int, length: int, launch: Launch) -> np.ndarray:
    """How often a number is taken if block b goes over `length` of them, from begin * b on."""
    edges = np.zeros(launch.size + 1, int)
    for block in range(launch.blocks):
        edges[min(begin * block, launch.size)] += 1
        edges[min(begin * block + length, launch.size)] -= 1
    return edges.cumsum()[:-1]


def which(mask: np.ndarray, what: str) -> str:
    """ "pixels 0 to 255 are", "3,000 of 4,097 pixels, from number 7 on, are"."""
    numbers = np.flatnonzero(mask)
    if len(numbers) == len(mask):
        return f"all {what} are"
    if len(numbers) == 1:
        return f"number {numbers[0]} of the {what} is"
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    if len(runs) > MOST_RUNS and len(set(np.diff(numbers).tolist())) == 1:
        return f"{what} {numbers_in_words(numbers.tolist())} are"
    if len(runs) > MOST_RUNS:
        return f"{len(numbers):,} of {len(mask):,} {what}, from number {numbers[0]} on, are"
    spans = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"{what} {', '.join(spans)} are"
