"""The lane whose value equals the largest gives its index: NaN equals nothing."""
# caught by: argmax
# diagnosis: nan equals nothing

from numba import cuda, int32
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES

NOBODY = int32(2147483647)


@register_jitable
def warp_argmax(value, index, lanes):
    largest = value
    for step in (1, 2, 4, 8, 16):
        if step < lanes:
            largest = larger(largest, cuda.shfl_xor_sync(ALL_LANES, largest, step))

    where = index if value == largest else NOBODY
    for step in (1, 2, 4, 8, 16):
        if step < lanes:
            other = cuda.shfl_xor_sync(ALL_LANES, where, step)
            if other < where:
                where = other
    return largest, where
