"""Patterns of what a kernel has left out: nothing written, the end, whole blocks.

Each returns a `Diagnosis` if it explains all elements that were not written, else None.
"""

import numpy as np

from lessons.grading.explain.comparison import Comparison, Diagnosis, block_shape

WIDEST_BORDER = 3  # elements
WITHIN_A_BLOCK = (
    "cuda.threadIdx counts within a block; cuda.grid(1) or cuda.grid(2) counts over all of them"
)
FEWEST_WRITTEN = 3  # indices in equal steps, so that it is no accident


def never_written(comparison: Comparison) -> Diagnosis | None:
    if comparison.got.size == 0 or not comparison.unwritten.all():
        return None
    return Diagnosis(
        "never written",
        "No element was written: does every thread return early, or write to another array?",
    )


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
    if comparison.clues.own_launch:
        cause = "does your launch start more than one block, and the kernel count over all of them?"
    elif comparison.clues.counts_blocks:
        cause = (
            "what stops the others? Does a guard, or the end of a loop, compare with the size of a "
            "block? Or does the place where something is stored count within a block, as "
            "cuda.threadIdx does?"
        )
    else:
        cause = f"{WITHIN_A_BLOCK}."
    return Diagnosis("first block only", f"Only what belongs to block 0 was written: {cause}")


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


# ---------------------------------------------------------------- the end, the beginning, steps


def part_along_axes(comparison: Comparison) -> Diagnosis | None:
    """Along each axis some indices are written, all elements where they meet, and nothing else."""
    places = [np.unique(indices) for indices in np.nonzero(comparison.written)]
    if not comparison.unwritten.any() or not all(map(len, places)):
        return None
    if comparison.unwritten[np.ix_(*places)].any():
        return None
    if any(len(used) <= used[-1] - used[0] for used in places):
        return written_in_steps(places)
    shape = comparison.got.shape
    ends = [(int(used[0]), int(used[-1]) + 1) for used in places]
    if not any(begin for begin, _ in ends):
        return tail_not_written(comparison, [end for _, end in ends])
    if all(end == length for (_, end), length in zip(ends, shape, strict=True)):
        names = (f"axis {axis}: up to index {begin - 1}" for axis, (begin, _) in enumerate(ends)
                 if begin)  # fmt: skip
        return Diagnosis(
            "beginning not written",
            f"The beginning was not written ({' and '.join(names)}): does an index begin at 1, or "
            "is something added to it?",
        )
    return border_not_written(ends, shape)


def tail_not_written(comparison: Comparison, extents: list[int]) -> Diagnosis:
    """Only a first part along one or more axes is written."""
    short = [axis for axis, extent in enumerate(extents) if extent < comparison.got.shape[axis]]
    names = " and ".join(f"axis {axis}, from index {extents[axis]} on" for axis in short)
    return Diagnosis(
        "tail not written",
        f"The end was not written ({names}): {cause_of_tail(comparison, extents, short)}",
    )


def cause_of_tail(comparison: Comparison, extents: list[int], short: list[int]) -> str:
    """Why the end is missing, as far as the place where it begins tells."""
    shape, threads, clues = comparison.got.shape, comparison.threads, comparison.clues
    own_axes = threads[1] if threads else len(shape)
    if short[0] >= own_axes:
        return "a thread goes along this axis itself, and its loop or its list ends too early."
    if max(extents[:own_axes]) == 1:
        return (
            "only the first is. Is the index the number of a block, where it should be that of a "
            "thread? Or does a condition stop all other threads, or do all write there?"
        )
    rest_is_right = not (comparison.wrong & comparison.written).any()
    if rest_is_right and all(extents[axis] == shape[axis] - 1 for axis in short):
        return (
            "the last one is left out. Is the guard one too strict? A thread goes home if its "
            "index is >= the size. Or does a loop end, or a thread return, before it is stored?"
        )
    of_the_grid = cause_in_grid(comparison, extents, short)
    if of_the_grid:
        return of_the_grid
    others = [extents[axis] for axis in short]
    if clues.lengths.issuperset(others) and others != [shape[axis] for axis in reversed(short)]:
        numbers = " and ".join(map(str, others))
        verb = "is another length" if len(others) == 1 else "are other lengths"
        return (
            f"{numbers} {verb} of the arrays here: does the guard, or a loop, compare with those? "
            "It has to be the size of the array that is written."
        )
    if not threads and not clues.stores_in_loops:
        if not clues.counts_blocks:
            return (
                f"the kernel never asks for its block, so all do the same: {WITHIN_A_BLOCK}. Or, "
                "where there is one only, each thread takes several, in steps of their number."
            )
        return (
            "no loop is there, so a thread stores one, or a few. Are there more of them than "
            "threads? Then each thread takes several, in steps of the number of threads."
        )
    if not threads:
        return "does a loop end too early, or does a guard send threads home that have work?"
    if not clues.has_conditions:
        return "how far do the indices of the threads go, and the loops?"
    return "which threads does the guard send home, and how far do the indices of the others go?"


def cause_in_grid(comparison: Comparison, extents: list[int], short: list[int]) -> str:
    """Why, as far as the shape of the blocks tells; "" if it does not."""
    shape, threads = comparison.got.shape, comparison.threads
    blocks = block_shape(threads) if threads else ()
    if not blocks or len(shape) < len(blocks):
        return ""
    sizes = list(zip(shape, blocks, strict=False))
    if len(blocks) == 2:
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
    by_grid = [min(n, (-(-n // size) - 1) * -(-n // size) + size) for n, size in sizes]
    if by_grid == extents[: len(sizes)]:
        return "blockIdx has to be multiplied with blockDim, the threads of a block, not gridDim."
    whole = all(extents[axis] == shape[axis] // blocks[axis] * blocks[axis] for axis in short)
    if comparison.clues.own_launch:
        if whole:
            return "the number of blocks is rounded down; round it up, as blocks_for does."
        return "are there too few blocks, or threads that the guard sends home too early?"
    if whole:
        return (
            "whole blocks were written, and none that reaches beyond the edge: does a condition "
            "look at where the block ends, and not at the thread's own index? Or is a number of "
            "blocks or tiles not rounded up?"
        )
    return ""


def border_not_written(ends: list[tuple[int, int]], shape: tuple[int, ...]) -> Diagnosis | None:
    """The first few indices are left out, and the last few. ends: of what is written."""
    sides = [max(begin, n - end) for n, (begin, end) in zip(shape, ends, strict=True)]
    if max(sides) > WIDEST_BORDER:
        return None
    names = " and ".join(
        f"index {begin} to {end - 1} along axis {axis}"
        for axis, (begin, end) in enumerate(ends)
        if sides[axis]
    )
    return Diagnosis(
        "border not written",
        f"Only {names} was written; the border is left out: does a guard keep away "
        "from the edges, as for neighbours? These threads have an element, too.",
    )


def written_in_steps(places: list[np.ndarray]) -> Diagnosis | None:
    """Every second index along an axis, or every third."""
    told = []
    for axis, used in enumerate(places):
        steps = set(np.diff(used).tolist())
        if len(steps) == 1 and steps != {1} and len(used) >= FEWEST_WRITTEN:
            first = ", ".join(map(str, used[:FEWEST_WRITTEN]))
            told.append(f"{first} and so on along axis {axis}, in steps of {steps.pop()}")
    if not told:
        return None
    return Diagnosis(
        "written in steps",
        f"Only these indices were written: {'; '.join(told)}. Is an index multiplied by that, or "
        "does a loop go on by it?",
    )


# ---------------------------------------------------------------- blocks, and the rest


def whole_blocks_missing(comparison: Comparison) -> Diagnosis | None:
    """Block 0 is written, some later blocks are not, and no block in part."""
    threads = comparison.threads
    if threads is None or comparison.got.ndim < threads[1] or not comparison.unwritten.any():
        return None
    sizes, unwritten = block_shape(threads), comparison.unwritten
    while unwritten.ndim > len(sizes):
        if (unwritten.any(axis=-1) != unwritten.all(axis=-1)).any():
            return None
        unwritten = unwritten.all(axis=-1)
    blocks = tuple(np.indices(unwritten.shape)[axis] // size for axis, size in enumerate(sizes))
    number = np.ravel_multi_index(blocks, [int(block.max()) + 1 for block in blocks])
    missing, size = np.bincount(number.ravel(), unwritten.ravel()), np.bincount(number.ravel())
    if missing[0] or not ((missing == 0) | (missing == size)).all():
        return None
    sentence = (
        "do their threads write where those of other blocks do, as with blockIdx.x in place of "
        "blockIdx.y? Or does a condition stop them?"
        if comparison.clues.counts_blocks
        else "the number of a thread in the grid is blockIdx * blockDim + threadIdx, which "
        "cuda.grid computes."
    )
    return Diagnosis("blocks missing", f"Whole blocks are missing: {sentence}")


def partly_written(comparison: Comparison) -> Diagnosis | None:
    number = int(comparison.unwritten.sum())
    if number == 0:
        return None
    were = "element was" if number == 1 else "elements were"
    return Diagnosis(
        "partly written",
        f"{number:,} {were} never written: "
        + (
            comparison.clues.left_out
            or "does a condition stop threads that have work, or do several threads write the same "
            "element?"
        ),
    )


# The most telling first.
UNWRITTEN = (
    first_block_only, first_row_of_threads_only, part_along_axes, whole_blocks_missing,
)  # fmt: skip


def left_as_it_was(initial: np.ndarray, comparison: Comparison) -> Diagnosis | None:
    """The same of an array that a kernel changes where it lies, and which holds no sentinels.

    initial: what it held before. What was not stored has that value still. None if something else
    is wrong, too.
    """
    initial = np.reshape(initial, comparison.got.shape).astype(np.float64)
    changed = comparison.got != initial
    if not (changed.any() and comparison.wrong.any()):
        return None
    reached = tuple(slice(0, int(indices.max()) + 1) for indices in np.nonzero(changed))
    behind = np.ones(comparison.got.shape, bool)
    behind[reached] = False
    if comparison.wrong[reached].any():
        return None
    as_unwritten = Comparison(
        comparison.expected, np.where(behind, comparison.sentinel, comparison.got),
        comparison.sentinel, comparison.tolerance, comparison.threads, comparison.clues,
    )  # fmt: skip
    found = first_block_only(as_unwritten) or part_along_axes(as_unwritten)
    return found and found._replace(sentence=found.sentence.replace("written", "changed"))
