"""The index changes only if the value does: of equal values nobody takes the lower one."""
# caught by: argmax
# diagnosis: equal ones undecided

import math

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.maximum import larger
from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_argmax(value, index, lanes):
    step = lanes // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        other_index = cuda.shfl_xor_sync(ALL_LANES, index, step)
        best = larger(value, other)
        changed = best > value or (math.isnan(best) and not math.isnan(value))
        if changed:
            index = other_index
        value = best
        step = step // 2
    return value, index
