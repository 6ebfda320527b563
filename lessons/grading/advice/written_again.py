"""Why elements are written more than once, as far as the number of times tells it."""

import itertools
import math
from collections.abc import Collection

import numpy as np

from lessons.grading.advice.comparison import Threads, block_shape

ONE_EACH = "A thread should write its own element, once."
BY_ALL = (
    "all threads of the launch store, also those beyond the edge, which have no element of their "
    "own. A guard has to send these home: they return, and are not given an element of another "
    "thread."
)
BY_BLOCKS_BEFORE = (
    "by its own thread, and by those of the blocks before it: a loop begins at the thread's own "
    "element, and goes on by a block. It has to go on by all threads of the grid, cuda.gridsize, "
    "if there is a loop at all."
)
BY_THREADS_AROUND = (
    "by its own thread, and by others before or after it: a loop begins at the thread's own "
    "element{}, and goes on by {}. It has to go on by all threads of the grid, cuda.gridsize, if "
    "there is a loop at all."
)
NUMBER_OF_BLOCKS = "cuda.gridDim, which is the number of blocks"
BY_FLAT_NUMBER = (
    "by its own thread, and by threads beyond the edge of an earlier {}: the guard compares a "
    "number such as {} with all that there are, and such a thread is below that, but its number "
    "is that of another thread, too. Compare x with the width, and y with the height."
)
BY_SEVERAL = (
    "several threads do the same work, or a thread stores again in each round of a loop that goes "
    f"over something else. {ONE_EACH}"
)


def why_again(
    writes: float,
    shape: tuple[int, ...],
    threads: Threads | None,
    lengths: Collection[int] = (),
    steps_by_blocks: bool = False,
) -> str:
    """Who writes an array of this shape so often; "" if the number tells nothing.

    lengths: of other arrays: as many rounds may store the same element again. steps_by_blocks:
    whether the kernel uses the number of blocks as it is.
    """
    if threads is None:
        return ""
    if writes == stored_by_all(shape, threads):
        return BY_ALL
    if writes in stored_by_blocks_before(shape, threads):
        return BY_BLOCKS_BEFORE
    others = stored_by_others(shape, threads)
    rounds = set(lengths) - set(shape)
    if writes in others and writes / math.prod(shape) not in rounds:
        return f"{others[int(writes)]}. {ONE_EACH}"
    if steps_by_blocks and writes in stored_in_steps(shape, threads, of_blocks=True):
        return BY_THREADS_AROUND.format("", NUMBER_OF_BLOCKS)
    if writes in stored_in_steps(shape, threads, of_blocks=False):
        return BY_THREADS_AROUND.format(", or ends there", "1")
    return stored_by_flat_numbers(shape, threads).get(int(writes), "")


def stored_in_steps(shape: tuple[int, ...], threads: Threads, of_blocks: bool) -> set[int]:
    """How often an array is stored to if loops begin at the own element, and go on by too little.

    By the number of blocks along that axis, or else by 1; along one direction, or along more.
    """
    ways = []
    for length, size in zip(shape, block_shape(threads), strict=False):
        blocks = -(-length // size)
        step = blocks if of_blocks else 1
        places = np.arange(length)
        last = np.minimum(places, blocks * size - 1)
        ways.append((length, int(((last - places % step) // step + 1).sum())))
    beside = math.prod(shape[len(ways) :])
    return {math.prod(way) * beside for way in itertools.product(*ways)} - {math.prod(shape)}


def stored_by_flat_numbers(shape: tuple[int, ...], threads: Threads) -> dict[int, str]:
    """How often a picture is stored to if its guard knows a flat number alone: number -> why."""
    sizes = block_shape(threads)
    if len(sizes) != 2 or len(shape) < 2:
        return {}
    height, width = shape[:2]
    down, across = (-(-n // size) * size for n, size in zip(shape, sizes, strict=False))
    by_rows = np.clip(height * width - width * np.arange(down), 0, across).sum()
    by_columns = np.clip(height * width - height * np.arange(across), 0, down).sum()
    beside = math.prod(shape[2:])
    ways = {
        "row": (int(by_rows) * beside, "y * width + x"),
        "column": (int(by_columns) * beside, "x * height + y"),
    }
    numbers = [times for times, _ in ways.values()]
    return {
        times: BY_FLAT_NUMBER.format(line, number)
        for line, (times, number) in ways.items()
        if numbers.count(times) == 1 and times != math.prod(shape)
    }


def stored_by_all(shape: tuple[int, ...], threads: Threads) -> int:
    """How often an array is stored to if no thread of such a launch is sent home at its edge."""
    blocks = block_shape(threads)
    launched = math.prod(-(-n // size) * size for n, size in zip(shape, blocks, strict=False))
    return launched * math.prod(shape[len(blocks) :])


def stored_by_blocks_before(shape: tuple[int, ...], threads: Threads) -> set[int]:
    """How often an array is stored to if loops begin at the own element and go on by a block.

    Along one direction, or along more of them: one number for each choice.
    """
    sizes = block_shape(threads)
    once = [
        (n, sum(i // size + 1 for i in range(n))) for n, size in zip(shape, sizes, strict=False)
    ]
    beside = math.prod(shape[len(sizes) :])
    return {math.prod(ways) * beside for ways in itertools.product(*once)} - {math.prod(shape)}


def stored_by_others(shape: tuple[int, ...], threads: Threads) -> dict[int, str]:
    """How often an array is stored to if threads go over elements of others: number -> by whom.

    Numbers that could come about in two ways are left out.
    """
    sizes = block_shape(threads)
    own = shape[: len(sizes)]
    if len(own) < len(sizes):
        return {}
    launched = [-(-n // size) * size for n, size in zip(own, sizes, strict=True)]
    blocks = [-(-n // size) for n, size in zip(own, sizes, strict=True)]
    ways: dict[int, set[str]] = {}

    def note(times: int, words: str) -> None:
        if times > 1:
            ways.setdefault(times * math.prod(shape), set()).add(words)

    for threads_each in (launched, list(own)):  # with a guard only those that have an element
        if len(own) == 2:
            note(threads_each[1], ALONG.format("x"))
            note(threads_each[0], ALONG.format("y"))
        note(math.prod(threads_each), ALL_OF_LAUNCH)
    note(math.prod(blocks), EACH_BLOCK)
    return {number: words.pop() for number, words in ways.items() if len(words) == 1}


ALONG = (
    "so many threads lie beside each other along {}, and each of them goes through the same whole "
    "row or column in a loop"
)
ALL_OF_LAUNCH = "by all threads, so each of them goes through all elements in a loop"
EACH_BLOCK = "by a thread of each block, so every block goes through all elements"
