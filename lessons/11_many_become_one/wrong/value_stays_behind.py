"""The index of the larger value is taken, and the value is not."""
# caught by: argmax
# diagnosis: value left behind

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.maximum import comes_first
from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_argmax(value, index, lanes):
    step = lanes // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        other_index = cuda.shfl_xor_sync(ALL_LANES, index, step)
        if comes_first(other, other_index, value, index):
            index = other_index
        step //= 2
    return value, index
