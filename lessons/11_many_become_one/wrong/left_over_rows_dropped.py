"""Each block has rows // blocks rows, and what is left over is nobody's."""
# caught by: column_sums
# diagnosis: equal parts

import math

from numba import cuda, float32, int32, int64
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.columns import MAX_COLUMNS
from kernels.reductions.prefix_sum import PART, parts_for
from kernels.reductions.sums import ALL_LANES, WARPS


@register_jitable
def warp_sum(value, lanes):
    """The sum of `value` over `lanes` neighbouring lanes, in all of them; lanes: 2, 4, 8, 16, 32.

    All 32 lanes of the warp call it. With 8, each of the four groups has a sum of its own.
    """
    for bit in range(5):
        distance = 1 << bit
        if distance < lanes:
            value = value + cuda.shfl_xor_sync(ALL_LANES, value, distance)
    return value


@register_jitable
def block_sum(value, warp_sums):
    """The sum of `value` over a block of BLOCK_THREADS threads, in all of them.

    warp_sums: (WARPS,) in shared memory, of the type of `value`. All threads of the block call it;
    there is one barrier in it. The last that is done with warp_sums is a read: before anybody
    writes to it again, as a second call does, there has to be another barrier.
    """
    lane = cuda.threadIdx.x % WARP
    own = warp_sum(value, WARP)
    if lane == 0:
        warp_sums[cuda.threadIdx.x // WARP] = own
    cuda.syncthreads()
    return warp_sum(warp_sums[lane % WARPS], WARPS)


@cuda.jit
def sum_blocks(values, partials):
    """partials (blocks,): the sum of each block's part of values (n,), both float32; no atomics.

    Blocks of BLOCK_THREADS threads, each with several values.
    """
    warp_sums = cuda.shared.array(WARPS, float32)
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    total = block_sum(own, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_groups(values, lanes, sums):
    """sums (n,): of each of values (n,), the sum of its group of `lanes`; both float32.

    One thread per value; what `warp_sum` does, to look at.
    """
    i = cuda.grid(1)
    value = values[i] if i < values.shape[0] else float32(0)
    total = warp_sum(value, lanes)
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
    if first > second or first != first:
        return first
    return second


@register_jitable
def block_max(value, warp_maxima):
    """The maximum of `value` over a block of BLOCK_THREADS threads, in all of them.

    warp_maxima: (WARPS,) float32 in shared memory. All threads of the block call it, and put a
    barrier between two calls, as with `block_sum`.
    """
    lane = cuda.threadIdx.x % WARP
    step = WARP // 2
    while step > 0:
        value = larger(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    if lane == 0:
        warp_maxima[cuda.threadIdx.x // WARP] = value
    cuda.syncthreads()
    value = warp_maxima[lane % WARPS]
    step = WARPS // 2
    while step > 0:
        value = larger(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    return value


@cuda.jit
def max_blocks(values, partials):
    """partials (blocks,): the maximum of each block's part of values (n,), both float32.

    A block without a value has -inf, one with a NaN has NaN.
    """
    warp_maxima = cuda.shared.array(WARPS, float32)
    own = float32(-math.inf)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = larger(own, values[i])
    largest = block_max(own, warp_maxima)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = largest


@register_jitable
def comes_first(value, index, other, other_index):
    """Whether (value, index) is to be taken, and not (other, other_index).

    A NaN comes before every number, a larger value before a smaller one; of equal values, or two
    NaNs, the one with the lower index.
    """
    nan, other_nan = math.isnan(value), math.isnan(other)
    if nan != other_nan:
        return nan
    if nan or value == other:
        return index < other_index
    return value > other


@register_jitable
def warp_argmax(value, index, lanes):
    """(value, index) of the pair that comes first among `lanes` neighbouring lanes."""
    step = lanes // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        other_index = cuda.shfl_xor_sync(ALL_LANES, index, step)
        if comes_first(other, other_index, value, index):
            value = other
            index = other_index
        step //= 2
    return value, index


@register_jitable
def block_argmax(value, index, warp_values, warp_indices):
    """The index of the pair that comes first in a block, in all of its threads: int32.

    warp_values (WARPS,) float32, warp_indices (WARPS,) int32: in shared memory, see `block_max`.
    All threads of the block call it, those without a value with -inf and 0.
    """
    lane = cuda.threadIdx.x % WARP
    warp = cuda.threadIdx.x // WARP
    best, where = warp_argmax(value, index, WARP)
    if lane == 0:
        warp_values[warp] = best
        warp_indices[warp] = where
    cuda.syncthreads()
    best, where = warp_argmax(warp_values[lane % WARPS], warp_indices[lane % WARPS], WARPS)
    return where


@cuda.jit
def argmax_blocks(values, candidates):
    """candidates (blocks,) int32: where in values (n,) float32 the maximum of each block's part is.

    A block without a value has 0. n: at most 2^31 - 1, as an index is an int32.
    """
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    best, where = float32(-math.inf), int32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        if comes_first(values[i], int32(i), best, where):
            best, where = values[i], int32(i)
    where = block_argmax(best, where, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = where


@cuda.jit
def argmax_candidates(values, candidates, result):
    """result (1,) int32: which of candidates (blocks,) int32 is where values (n,) is largest.

    One block; there may be more candidates than threads.
    """
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)

    value, index = float32(-math.inf), int32(0)
    for i in range(cuda.threadIdx.x, candidates.shape[0], BLOCK_THREADS):
        candidate = candidates[i]
        own = values[candidate]
        if comes_first(own, candidate, value, index):
            value, index = own, candidate
    index = block_argmax(value, index, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        result[0] = index


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
        total = warp_sum(value, WARP)
        if cuda.threadIdx.x % WARP == 0:
            cuda.atomic.add(sums, column, total)


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per block of BLOCK_THREADS rows, and column.
    """
    warp_sums = cuda.shared.array(WARPS, float32)
    row = cuda.grid(1)
    rows, columns = gradient.shape
    for column in range(columns):
        value = gradient[row, column] if row < rows else float32(0)
        total = block_sum(value, warp_sums)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(sums, column, total)
        cuda.syncthreads()


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    """partials (blocks, columns): the column sums of each block's rows of gradient (rows, columns).

    Both float32; no atomics, and one barrier. At most MAX_COLUMNS columns: of each, every warp can
    keep its sum in shared memory.
    """
    warp_sums = cuda.shared.array((WARPS, MAX_COLUMNS), float32)
    t = cuda.threadIdx.x
    rows, columns = gradient.shape
    rows_per_block = rows // cuda.gridDim.x
    begin = cuda.blockIdx.x * rows_per_block
    end = begin + rows_per_block

    for c in range(columns):
        s = float32(0)
        r = begin + t
        while r < end:
            s += gradient[r, c]
            r += BLOCK_THREADS
        s = warp_sum(s, WARP)
        if t % WARP == 0:
            warp_sums[t // WARP, c] = s
    cuda.syncthreads()

    for c in range(t, columns, BLOCK_THREADS):
        s = float32(0)
        for w in range(WARPS):
            s += warp_sums[w, c]
        partials[cuda.blockIdx.x, c] = s


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
    for bit in range(5):
        reach = 1 << bit
        neighbour = cuda.shfl_up_sync(ALL_LANES, value, reach)
        value += neighbour if cuda.threadIdx.x % WARP >= reach else 0
    return value


@cuda.jit
def sums_of_parts(counts, part_sums):
    """part_sums (parts,): the sums of the parts of counts (n,), both int32. One block per part."""
    warp_sums = cuda.shared.array(WARPS, int32)
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for i in range(first + cuda.threadIdx.x, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        own_sum += counts[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        part_sums[cuda.blockIdx.x] = total


@cuda.jit
def prefix_sum(counts, part_sums, running):
    """running (n,): the sums of counts (n,) from the first up to each. One block per part.

    part_sums (parts,): what `sums_of_parts` has written. All int32.
    """
    part_warps = cuda.shared.array(WARPS, int32)
    warp_sums = cuda.shared.array(WARPS, int32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    n = counts.shape[0]

    lower = int32(0)
    for part in range(cuda.threadIdx.x, cuda.blockIdx.x, BLOCK_THREADS):
        lower += part_sums[part]
    before = block_sum(lower, part_warps)

    first = cuda.blockIdx.x * PART
    for start in range(first, min(first + PART, n), BLOCK_THREADS):
        i = start + cuda.threadIdx.x
        own = warp_prefix(counts[i] if i < n else int32(0))
        if lane == WARP - 1:
            warp_sums[warp] = own
        cuda.syncthreads()
        up_to_here = before + own
        for w in range(WARPS):
            if w < warp:
                up_to_here += warp_sums[w]
            before += warp_sums[w]
        if i < n:
            running[i] = up_to_here
        cuda.syncthreads()


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
    i = cuda.grid(1)
    if i >= running.shape[0]:
        return
    pixels = int64(running[running.shape[0] - 1])
    now = int64(running[i]) * 1000
    before = int64(0)
    if i > 0:
        before = int64(running[i - 1]) * 1000
    for k in range(per_mille.shape[0]):
        needed = max(int64(per_mille[k]) * pixels, int64(1))
        if now >= needed and before < needed:
            levels[k] = i


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
