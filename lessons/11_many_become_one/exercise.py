"""Lesson 11: many become one. Sums, maxima and running sums, by shuffles and without atomics.

Write the functions marked "write me"; the story is in README.md beside this file.

    values (n,)  ->  one number per block  ->  one number      in two launches

Check your work with `python -m lessons check 11`.
"""

import math

from numba import cuda, float32, int32, int64
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.columns import MAX_COLUMNS
from kernels.reductions.prefix_sum import PART, parts_for
from kernels.reductions.sums import ALL_LANES, WARPS


@register_jitable
def add(first, second):
    """The operator of a sum, which begins at 0."""
    return first + second


@register_jitable
def warp_reduce(value, lanes, operator):
    """What the `value` of `lanes` neighbouring lanes become, in all of them.

    lanes: 2, 4, 8, 16 or 32; all 32 of the warp call it. operator: a function of two values.
    """
    raise NotImplementedError("write me")


@register_jitable
def block_reduce(value, of_warps, operator):
    """What the `value` of the BLOCK_THREADS threads of a block become, in all of them.

    All threads of the block call it. of_warps: (WARPS,) in shared memory, of the type of `value`;
    it is read behind the only barrier, and before a second call there has to be another one.
    """
    raise NotImplementedError("write me")


@register_jitable
def reduce_blocks(values, partials, begin, operator):
    """partials (blocks,): what each block's part of values (n,) becomes, both float32; no atomics.

    begin: float32 with which the operator changes no value; the result of a block without values.
    """
    raise NotImplementedError("write me")


@cuda.jit
def sum_blocks(values, partials):
    """partials (blocks,): the sum of each block's part of values (n,), both float32."""
    reduce_blocks(values, partials, float32(0), add)


@cuda.jit
def sum_groups(values, lanes, sums):
    """sums (n,): of each of values (n,) float32, the sum of its group of `lanes`, to look at."""
    i = cuda.grid(1)
    value = values[i] if i < values.shape[0] else float32(0)
    total = warp_reduce(value, lanes, add)
    if i < values.shape[0]:
        sums[i] = total


def launch_sum(values, partials, total, launch=on_gpu):
    """partials: of any length, one per block; `blocks_for_values` is a good one."""
    launch(sum_blocks, partials.shape[0], BLOCK_THREADS, values, partials)
    launch(sum_blocks, 1, BLOCK_THREADS, partials, total)


def launch_sum_groups(values, lanes, sums, launch=on_gpu):
    launch(sum_groups, blocks_for(values.shape[0]), THREADS, values, lanes, sums)


@register_jitable
def larger(first, second):
    """The larger of two float32; NaN if one of them is NaN, as in NumPy."""
    raise NotImplementedError("write me")


@cuda.jit
def max_blocks(values, partials):
    """partials (blocks,): the maximum of each block's part of values (n,), both float32.

    A block without a value has -inf, one with a NaN has NaN.
    """
    raise NotImplementedError("write me")


@register_jitable
def pair_of(value, index):
    """A float32 and an int32 as one int64: the bits of the value above those of the index."""
    return int64(cuda.libdevice.float_as_int(value)) << 32 | int64(index) & 0xFFFFFFFF


@register_jitable
def value_of(pair):
    """The float32 of a pair."""
    return cuda.libdevice.int_as_float(int32(pair >> 32))


@register_jitable
def index_of(pair):
    """The int32 of a pair."""
    return int32(pair & 0xFFFFFFFF)


@register_jitable
def comes_first(value, index, other, other_index):
    """Whether (value, index) is to be taken, and not (other, other_index).

    A NaN comes before every number, a larger value before a smaller one; of equal values, or two
    NaNs, the one with the lower index.
    """
    raise NotImplementedError("write me")


@register_jitable
def first_of(pair, other):
    """The one of two pairs that comes first."""
    raise NotImplementedError("write me")


@cuda.jit
def argmax_blocks(values, candidates):
    """candidates (blocks,) int32: where in values (n,) float32 the maximum of each block's part is.

    A block without a value has 0. n: at most 2^31 - 1, as an index is an int32.
    """
    raise NotImplementedError("write me")


@cuda.jit
def argmax_candidates(values, candidates, result):
    """result (1,) int32: which of candidates (blocks,) int32 is where values (n,) is largest.

    One block; there may be more candidates than threads.
    """
    of_warps = cuda.shared.array(WARPS, int64)
    own = pair_of(float32(-math.inf), 0)
    for i in range(cuda.threadIdx.x, candidates.shape[0], BLOCK_THREADS):
        candidate = candidates[i]
        own = first_of(own, pair_of(values[candidate], candidate))
    first = block_reduce(own, of_warps, first_of)
    if cuda.threadIdx.x == 0:
        result[0] = index_of(first)


def launch_max(values, partials, largest, launch=on_gpu):
    """partials: of any length, one per block; `sums.blocks_for_values` is a good one."""
    launch(max_blocks, partials.shape[0], BLOCK_THREADS, values, partials)
    launch(max_blocks, 1, BLOCK_THREADS, partials, largest)


def launch_argmax(values, candidates, index, launch=on_gpu):
    """candidates: as the partials of `launch_max`, but int32."""
    launch(argmax_blocks, candidates.shape[0], BLOCK_THREADS, values, candidates)
    launch(argmax_candidates, 1, BLOCK_THREADS, values, candidates, index)


@cuda.jit
def column_sums_by_warps(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per warp and column.
    """
    row = cuda.grid(1)
    rows, columns = gradient.shape

    # A thread without a row stays: the others of its warp wait for it in each shuffle.
    for column in range(columns):
        value = gradient[row, column] if row < rows else float32(0)
        total = warp_reduce(value, WARP, add)
        if cuda.threadIdx.x % WARP == 0:
            cuda.atomic.add(sums, column, total)


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per block of BLOCK_THREADS rows, and column.
    """
    raise NotImplementedError("write me")


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    """partials (blocks, columns): the column sums of each block's rows of gradient (rows, columns).

    Both float32; no atomics, one barrier. Every warp has room for the sums of MAX_COLUMNS columns.
    """
    raise NotImplementedError("write me")


def launch_column_sums_by_warps(gradient, sums, launch=on_gpu):
    blocks = blocks_for(gradient.shape[0], BLOCK_THREADS)
    launch(column_sums_by_warps, blocks, BLOCK_THREADS, gradient, sums)


def launch_column_sums_by_blocks(gradient, sums, launch=on_gpu):
    blocks = blocks_for(gradient.shape[0], BLOCK_THREADS)
    launch(column_sums_by_blocks, blocks, BLOCK_THREADS, gradient, sums)


def launch_column_sums(gradient, partials, sums, launch=on_gpu):
    """Sets sums (1, columns). partials: (blocks, columns), with any number of blocks.

    Raises `ValueError` for more than MAX_COLUMNS columns: their sums would not fit into a block.
    """
    if gradient.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"{gradient.shape[1]} columns, and a block has room for the sums of {MAX_COLUMNS}: "
            "take kernels.classifier.column_sums, where a thread has a column"
        )
    launch(column_sums_of_blocks, partials.shape[0], BLOCK_THREADS, gradient, partials)
    launch(column_sums_of_blocks, 1, BLOCK_THREADS, partials, sums)


@register_jitable
def warp_prefix(value):
    """The sum of `value` over the lanes of a warp up to this one, itself included."""
    raise NotImplementedError("write me")


@cuda.jit
def sums_of_parts(counts, part_sums):
    """part_sums (parts,): the sums of the parts of counts (n,), both int32. One block per part."""
    warp_sums = cuda.shared.array(WARPS, int32)
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for i in range(first + cuda.threadIdx.x, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        own_sum += counts[i]
    total = block_reduce(own_sum, warp_sums, add)
    if cuda.threadIdx.x == 0:
        part_sums[cuda.blockIdx.x] = total


@cuda.jit
def prefix_sum(counts, part_sums, running):
    """running (n,): the sums of counts (n,) from the first up to each. One block per part.

    part_sums (parts,): what `sums_of_parts` has written. All int32.
    """
    raise NotImplementedError("write me")


def launch_prefix_sum(counts, part_sums, running, launch=on_gpu):
    """part_sums: (parts_for(n),) int32."""
    parts = parts_for(counts.shape[0])
    launch(sums_of_parts, parts, BLOCK_THREADS, counts, part_sums)
    launch(prefix_sum, parts, BLOCK_THREADS, counts, part_sums, running)


@cuda.jit
def find_levels(running, per_mille, levels):
    """levels (k,): the first bin up to which per_mille[k] of 1,000 pixels lie, at least one pixel.

    running (bins,): the running sum of a histogram of one pixel or more. per_mille (k,): 0 to
    1,000. All int32; a thousand times a running sum may not fit into one. One thread per bin.
    """
    raise NotImplementedError("write me")


@cuda.jit
def stretch(colours, levels, bins, stretched):
    """stretched (n,): colours (n,) with the bin levels[0] at 0 and levels[1] at 1, both float32.

    levels (2,) int32: bins of a histogram of `bins` bins. What lies beyond them is 0 or 1.
    """
    i = cuda.grid(1)
    if i >= colours.shape[0]:
        return

    dark = float32(levels[0]) / float32(bins)
    bright = float32(levels[1] + 1) / float32(bins)
    value = (colours[i] - dark) / (bright - dark)
    stretched[i] = min(max(value, float32(0)), float32(1))


def launch_find_levels(running, per_mille, levels, launch=on_gpu):
    blocks = blocks_for(running.shape[0])
    launch(find_levels, blocks, THREADS, running, per_mille, levels)


def launch_stretch(colours, levels, bins, stretched, launch=on_gpu):
    blocks = blocks_for(colours.shape[0])
    launch(stretch, blocks, THREADS, colours, levels, bins, stretched)
