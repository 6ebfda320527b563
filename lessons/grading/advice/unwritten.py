"""Patterns of what a kernel has left out: nothing written, the end, whole blocks.

Each returns a `Diagnosis` if it explains all elements that were not written, else None.
"""

from typing import NamedTuple

import numpy as np

from lessons.grading.advice.comparison import Comparison, block_shape
from lessons.grading.advice.tails import cause_of_tail

ONE_BLOCK = (
    "No element was written. Each block here reaches beyond an edge, and a condition compares "
    "where a block ends: does it stop the whole block? It has to compare the thread's own index."
)


class Diagnosis(NamedTuple):
    code: str  # a word or two, such as "transposed"
    sentence: str


def not_a_number(comparison: Comparison) -> Diagnosis | None:
    bad = np.isnan(comparison.got) & ~np.isnan(comparison.expected)
    if not bad.any():
        return None
    return Diagnosis(
        "nan",
        "There are NaNs: zero was divided by zero, a root or logarithm was taken of a negative "
        "number, there were numbers too large for float32, or memory was read that nobody had "
        "written.",
    )


def never_written(comparison: Comparison) -> Diagnosis | None:
    if comparison.got.size == 0 or not comparison.unwritten.all():
        return None
    return Diagnosis(
        "never written",
        ONE_BLOCK
        if beyond_all_edges(comparison)
        else "No element was written: does every thread return early, or write to another array?",
    )


def beyond_all_edges(comparison: Comparison) -> bool:
    """Whether each block has threads beyond an edge, and the kernel asks for ends of blocks."""
    threads, shape = comparison.threads, comparison.got.shape
    if threads is None or len(shape) < threads[1] or not comparison.clues.asks_for_ends:
        return False
    return any(n < size for n, size in zip(shape, block_shape(threads), strict=False))


def first_block_only(comparison: Comparison) -> Diagnosis | None:
    """Right where block 0 works, and nowhere else."""
    threads = comparison.threads
    if threads is None or comparison.got.ndim < threads[1]:
        return None
    inside = np.zeros(comparison.got.shape, bool)
    inside[tuple(slice(0, size) for size in block_shape(threads))] = True
    if inside.all() or comparison.wrong[inside].any():
        return None
    if not comparison.unwritten[~inside].all():
        return None
    return Diagnosis(
        "first block only", f"Only what belongs to block 0 was written: {cause_of_one(comparison)}"
    )


def cause_of_one(comparison: Comparison) -> str:
    """Why all blocks but one write nothing of their own."""
    if comparison.clues.own_launch:
        return "does your launch start more than one block, and the kernel count over all of them?"
    if comparison.clues.counts_blocks:
        return (
            "what stops the others? Does a guard, or the end of a loop, compare with the size of a "
            "block? Or does the place where something is stored count within a block, as "
            "cuda.threadIdx does?"
        )
    return (
        "cuda.threadIdx counts within a block; cuda.grid(1) or cuda.grid(2) counts over all of "
        "them."
    )


def tail_not_written(comparison: Comparison) -> Diagnosis | None:
    """Only a first part along one or more axes is written, and that part is complete."""
    shape = comparison.got.shape
    if not comparison.unwritten.any() or not shape:
        return None
    extents = [int(indices.max(initial=-1)) + 1 for indices in np.nonzero(comparison.written)]
    if comparison.unwritten[tuple(slice(0, extent) for extent in extents)].any():
        return None
    short = [axis for axis, extent in enumerate(extents) if extent < shape[axis]]
    names = " and ".join(f"axis {axis}, from index {extents[axis]} on" for axis in short)
    return Diagnosis(
        "tail not written",
        f"The end was not written ({names}): {cause_of_tail(comparison, extents, short)}",
    )


def first_row_of_threads_only(comparison: Comparison) -> Diagnosis | None:
    """Of a picture, as many pixels as there are threads along x, counted row by row."""
    threads, shape = comparison.threads, comparison.got.shape
    if threads is None or threads[1] != 2 or len(shape) < 2 or comparison.clues.own_launch:
        return None
    size = block_shape(threads)[1]
    across = -(-shape[1] // size) * size
    written = comparison.written.reshape(shape[0] * shape[1], -1)
    if across >= len(written) or written[across:].any() or not written[:across].all():
        return None
    return Diagnosis(
        "first row of threads only",
        f"Only the first {across} elements were written, counted row by row: as many as there are "
        "threads along x. cuda.grid(1) counts along x alone; these blocks have two dimensions: use "
        "x, y = cuda.grid(2).",
    )


def whole_blocks_missing(comparison: Comparison) -> Diagnosis | None:
    """Block 0 is written, some later blocks are not, and no block in part."""
    threads = comparison.threads
    if threads is None or comparison.got.ndim < threads[1] or not comparison.unwritten.any():
        return None
    sizes = block_shape(threads)
    unwritten = comparison.unwritten
    while unwritten.ndim > len(sizes):
        if (unwritten.any(axis=-1) != unwritten.all(axis=-1)).any():
            return None
        unwritten = unwritten.all(axis=-1)
    blocks = tuple(np.indices(unwritten.shape)[axis] // size for axis, size in enumerate(sizes))
    number = np.ravel_multi_index(blocks, [int(block.max()) + 1 for block in blocks])
    missing = np.bincount(number.ravel(), unwritten.ravel())
    size = np.bincount(number.ravel())
    if missing[0] or not ((missing == 0) | (missing == size)).all():
        return None
    down, across = (int(block.max()) + 1 for block in (blocks[0], blocks[-1]))
    if len(sizes) == 2 and is_diagonal(missing == 0, (down, across)):
        return Diagnosis(
            "blocks missing",
            "Only the blocks on the diagonal are there, (0, 0), (1, 1) and so on: row and column "
            "are counted with the same number of the block. The column is that of blockIdx.x, the "
            "row that of blockIdx.y.",
        )
    counts = comparison.clues.counts_blocks
    sentence = (
        "do their threads write where those of other blocks do, as with blockIdx.x in place of "
        "blockIdx.y? Or does a condition stop them?"
        if counts
        else "the number of a thread in the grid is blockIdx * blockDim + threadIdx, which "
        "cuda.grid computes."
    )
    return Diagnosis("blocks missing", f"Whole blocks are missing: {sentence}")


def is_diagonal(blocks: np.ndarray, shape: tuple[int, int]) -> bool:
    """Whether, of blocks in rows and columns, those with equal numbers are true, two or more."""
    square = blocks.reshape(shape)
    return min(shape) > 1 and bool((square == (np.eye(*shape) > 0)).all())


def partly_written(comparison: Comparison) -> Diagnosis | None:
    number = int(comparison.unwritten.sum())
    if number == 0:
        return None
    were = "element was" if number == 1 else "elements were"
    return Diagnosis(
        "partly written",
        f"{number:,} {were} never written: does a condition stop threads that have work, or do "
        "several threads write the same element?",
    )
