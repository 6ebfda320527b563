"""The largest of many numbers, and where it is, by warp shuffles and without atomics.

    values (n,) float32  ->  partials (blocks,)    ->  largest (1,) float32
                         ->  candidates (blocks,)  ->  index (1,) int32

The idea: a maximum is made as a sum is, with another operator and another number to begin with:
-inf, which no number is below. Where the largest number is takes pairs, of a value and its index,
that travel together: as one int64, so that they are one number for the reduction, too. Threads meet
in any order, so a rule has to decide every pair: the larger value, and of equal ones the lower
index. A NaN is no number that could be compared. As in NumPy, it wins, so that nobody takes what is
left for a result.

Source: Harris, "Optimizing parallel reduction in CUDA", NVIDIA, 2007; NumPy's `max` and `argmax`.
"""

import math

from numba import cuda, float32, int32, int64
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import on_gpu
from kernels.reductions.sums import WARPS, block_reduce, reduce_blocks


@register_jitable
def larger(first, second):
    """The larger of two float32; NaN if one of them is NaN, as in NumPy."""
    if first > second or math.isnan(first):
        return first
    return second


@cuda.jit
def max_blocks(values, partials):
    """partials (blocks,): the maximum of each block's part of values (n,), both float32.

    A block without a value has -inf, one with a NaN has NaN.
    """
    reduce_blocks(values, partials, float32(-math.inf), larger)


# ---------------------------------------------------------------- where it is


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
    if math.isnan(value) != math.isnan(other):
        return math.isnan(value)
    if value == other or math.isnan(value):
        return index < other_index
    return value > other


@register_jitable
def first_of(pair, other):
    """The one of two pairs that comes first."""
    if comes_first(value_of(other), index_of(other), value_of(pair), index_of(pair)):
        return other
    return pair


@cuda.jit
def argmax_blocks(values, candidates):
    """candidates (blocks,) int32: where in values (n,) float32 the maximum of each block's part is.

    A block without a value has 0. n: at most 2^31 - 1, as an index is an int32.
    """
    of_warps = cuda.shared.array(WARPS, int64)

    # If no value is larger than -inf, index 0 is right.
    own = pair_of(float32(-math.inf), 0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = first_of(own, pair_of(values[i], i))
    first = block_reduce(own, of_warps, first_of)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = index_of(first)


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
