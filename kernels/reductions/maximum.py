"""The largest of many numbers, and where it is, by warp shuffles and without atomics.

    values (n,) float32  ->  partials (blocks,)    ->  largest (1,) float32
                         ->  candidates (blocks,)  ->  index (1,) int32

The idea: a maximum is made as a sum is, with another operation and another number to begin with:
-inf, which no number is below. Where the largest number is takes pairs, of a value and its index,
that travel together. Threads meet in any order, so a rule has to decide every pair: the larger
value, and of equal ones the lower index. A NaN is no number that could be compared. As in NumPy, it
wins, so that nobody takes what is left for a result.

Source: Harris, "Optimizing parallel reduction in CUDA", NVIDIA, 2007; NumPy's `max` and `argmax`.
"""

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, WARP
from kernels.launch import on_gpu
from kernels.reductions.sums import ALL_LANES, WARPS


@register_jitable
def larger(first, second):
    """The larger of two float32; NaN if one of them is NaN, as in NumPy."""
    if first > second or math.isnan(first):
        return first
    return second


@register_jitable
def block_max(value, warp_maxima):
    """The maximum of `value` over a block of BLOCK_THREADS threads, in all of them.

    warp_maxima: (WARPS,) float32 in shared memory. All threads of the block call it, and put a
    barrier between two calls, as with `block_sum`.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    step = WARP // 2
    while step > 0:
        value = larger(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    if lane == 0:
        warp_maxima[warp] = value
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


# ---------------------------------------------------------------- where it is


@register_jitable
def comes_first(value, index, other, other_index):
    """Whether (value, index) is to be taken, and not (other, other_index).

    A NaN comes before every number, a larger value before a smaller one; of equal values, or two
    NaNs, the one with the lower index.
    """
    if math.isnan(value) != math.isnan(other):
        return math.isnan(value)
    if value == other or math.isnan(value):
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
            value, index = other, other_index
        step //= 2
    return value, index


@register_jitable
def block_argmax(value, index, warp_values, warp_indices):
    """The index of the pair that comes first in a block, in all of its threads: int32.

    warp_values (WARPS,) float32, warp_indices (WARPS,) int32: in shared memory, see `block_max`.
    All threads of the block call it, those without a value with -inf and 0.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value, index = warp_argmax(value, index, WARP)
    if lane == 0:
        warp_values[warp] = value
        warp_indices[warp] = index
    cuda.syncthreads()
    value, index = warp_argmax(warp_values[lane % WARPS], warp_indices[lane % WARPS], WARPS)
    return index


@cuda.jit
def argmax_blocks(values, candidates):
    """candidates (blocks,) int32: where in values (n,) float32 the maximum of each block's part is.

    A block without a value has 0. n: at most 2^31 - 1, as an index is an int32.
    """
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)

    # If no value is larger than -inf, index 0 is right.
    value, index = float32(-math.inf), int32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = values[i]
        if comes_first(own, i, value, index):
            value, index = own, int32(i)
    index = block_argmax(value, index, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = index


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
