"""Why the end of an array was not written, as far as the place where it begins tells."""

import math

from lessons.grading.advice.block_numbers import cause_by_block_number
from lessons.grading.advice.comparison import Clues, Comparison, block_shape


def cause_of_tail(comparison: Comparison, extents: list[int], short: list[int]) -> str:
    """Why the end is missing, as far as the place where it begins tells."""
    later = written_too_early(comparison, extents, short)
    if later:
        return (
            f"what belongs to index {later} and after it is stored from index 0 on, over what was "
            "there: the index lacks the place where its tile begins."
        )
    shape, threads = comparison.got.shape, comparison.threads
    own_axes = threads[1] if threads else len(shape)
    if short[0] >= own_axes:
        return "a thread goes along this axis itself, and its loop or its list ends too early."
    left_over = left_over_by_shares(comparison, extents, short)
    if left_over:
        return (
            f"each block has taken the same number of them, rounded down, and the last {left_over} "
            "are left over: round up, and let a guard stop the threads behind the end."
        )
    rest_is_right = not (comparison.wrong & comparison.written).any()
    if rest_is_right and all(extents[axis] == shape[axis] - 1 for axis in short):
        if comparison.clues.one_added:
            return (
                f"the last one is left out. Line {comparison.clues.one_added} adds 1 to the number "
                "of a thread: if the guard compares that as if it were counted from 0, it stops "
                "one thread too many."
            )
        return (
            "the last one is left out. Is the guard one too strict? A thread goes home if its "
            "index is >= the size. Or does a loop end, or a thread return, before it is stored?"
        )
    blocks = block_shape(threads) if threads else ()
    sizes = list(zip(shape, blocks, strict=False))
    if len(blocks) == 2 and len(shape) >= 2:
        if len(short) == 1 and extents[short[0]] == shape[1 - short[0]]:
            return (
                "x and y are both compared with the same length: x has to be compared with the "
                "width, y with the height."
            )
        counted = [-(-length // size) * size for length, size in sizes]
        if all(extents[axis] == min(shape[axis], counted[1 - axis]) for axis in (0, 1)):
            if comparison.clues.own_launch:
                return "the launch exchanges x and y: first the blocks across, then those down."
            return "x and y are exchanged, as x, y = cuda.grid(2) gives x first."
    if sizes and max(extents[: len(sizes)]) == 1:
        if comparison.clues.block_as_index:
            return (
                f"only the first is. Line {comparison.clues.block_as_index} takes the number of "
                "the block, and that is the index here: in this launch each thread has an index of "
                f"its own, cuda.grid({len(sizes)}), and stores all that belongs to it."
            )
        return (
            "only the first is. Is the index the number of a block, where it should be that of a "
            "thread? Or does a condition stop all other threads, or do all write there?"
        )
    by_number = cause_by_block_number(extents, short, sizes)
    if by_number:
        return by_number
    wrong_step = [min(n, (-(-n // size) - 1) * -(-n // size) + size) for n, size in sizes]
    if sizes and wrong_step == extents[: len(sizes)]:
        return "blockIdx has to be multiplied with blockDim, the threads of a block, not gridDim."
    if comparison.clues.own_launch:
        if blocks and all(
            extents[axis] == shape[axis] // blocks[axis] * blocks[axis] for axis in short
        ):
            return "the number of blocks is rounded down; round it up, as blocks_for does."
        return "are there too few blocks, or threads that the guard sends home too early?"
    if len(short) == 1 and extents[short[0]] in comparison.clues.lengths - {shape[short[0]]}:
        return (
            f"{extents[short[0]]} is another length of the arrays here: does the guard, or a loop, "
            "compare with that one?"
        )
    if len(short) == 2 and {extents[axis] for axis in short} <= comparison.clues.lengths:
        one, other = (extents[axis] for axis in short)
        return (
            f"{one} and {other} are other lengths of the arrays here: does the guard, or a loop, "
            "compare with those? It has to be the size of the array that is written."
        )
    if not threads:
        return cause_in_file(comparison.clues)
    step = step_of_blocks(comparison, extents, short)
    if sizes and all(extents[axis] == whole_blocks(shape[axis], blocks[axis]) for axis in short):
        overlap = f" Or do the blocks overlap, each {step} after the one before?" if step else ""
        return (
            "whole blocks were written, and none that reaches beyond the edge: does a condition "
            "look at where the block ends, and not at the thread's own index? Or is a number of "
            f"blocks or tiles not rounded up?{overlap}"
        )
    if step:
        return (
            f"the blocks overlap: each begins {step} after the one before, and has more threads "
            "than that. The number of a thread is blockIdx.x * blockDim.x + threadIdx.x."
        )
    shared_by = threads_per_row(comparison, extents, short)
    if shared_by:
        return (
            f"the launch has one thread per row, and here it takes {shared_by} to write a row: let "
            "a thread write all of its row."
        )
    return "which threads does the guard send home, and how far do the indices of the others go?"


def cause_in_file(clues: Clues) -> str:
    """What can leave out the end, by what the file has."""
    if clues.stores_in_loops and clues.has_conditions:
        return "does a loop end too early, or does a guard send threads home that have work?"
    if clues.stores_in_loops:
        return "does a loop end too early?"
    several = (
        "no loop stores results here, so a thread stores one, or a few. Are there more of them "
        "than threads? Then each thread takes several, in steps of the number of threads."
    )
    if clues.has_conditions:
        return f"{several} Or does a condition stop threads that have work?"
    return several


def whole_blocks(length: int, size: int) -> int:
    """How many elements the blocks have that lie in the array as a whole."""
    return length // size * size


def left_over_by_shares(comparison: Comparison, extents: list[int], short: list[int]) -> int:
    """How many are left over if each block takes an equal share, rounded down; else 0.

    A single one is left over by many mistakes.
    """
    threads, length = comparison.threads, comparison.got.shape[0]
    if short != [0] or threads is None or threads[1] != 1 or comparison.clues.own_launch:
        return 0
    (block,) = block_shape(threads)
    blocks = -(-length // block)
    left_over = length % blocks
    return left_over if left_over > 1 and extents[0] == length - left_over else 0


def step_of_blocks(comparison: Comparison, extents: list[int], short: list[int]) -> int:
    """How far apart blocks begin that overlap, if they come just so far; else 0."""
    threads, rows = comparison.threads, comparison.got.shape[0]
    if short != [0] or threads is None or threads[1] != 1 or comparison.clues.usual_numbers:
        return 0
    (block,) = block_shape(threads)
    blocks = -(-rows // block)
    if blocks < 3:  # two may come as far for many reasons
        return 0
    return next((n for n in (2, 4, 8, 16, 32, 64) if extents[0] == (blocks - 1) * n + block), 0)


def threads_per_row(comparison: Comparison, extents: list[int], short: list[int]) -> int:
    """How many threads share a row, if that explains how few rows are written; else 0.

    As many as some axis is long: the number of a thread was divided by that length.
    """
    threads, rows = comparison.threads, comparison.got.shape[0]
    if short != [0] or threads is None or threads[1] != 1:
        return 0
    (block,) = block_shape(threads)
    if extents[0] >= block and not comparison.clues.usual_numbers:
        return 0  # blocks that overlap may come as far
    started = -(-rows // block) * block
    lengths = comparison.clues.lengths | {math.prod(comparison.got.shape[1:])}
    return next((n for n in sorted(lengths) if n > 1 and started // n == extents[0]), 0)


def written_too_early(comparison: Comparison, extents: list[int], short: list[int]) -> int:
    """From which index on the results belong that stand at the beginning of an axis; or 0."""
    if len(short) != 1:
        return 0
    axis, extent = short[0], extents[short[0]]
    if extent < 2:
        return 0
    got = comparison.got.take(range(extent), axis)
    for first in range(extent, comparison.got.shape[axis] - extent + 1, extent):
        expected = comparison.expected.take(range(first, first + extent), axis)
        right = comparison.expected.take(range(extent), axis)
        if comparison.close(got, expected).all() and not comparison.close(right, expected).all():
            return first
    return 0
