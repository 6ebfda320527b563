"""Only lanes that give way fetch the index, and the others never come to that shuffle."""
# caught by: argmax
# diagnosis: barrier

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_argmax(value, index, lanes):
    step = lanes // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        if other > value:
            index = cuda.shfl_xor_sync(ALL_LANES, index, step)
            value = other
        step //= 2
    return value, index
