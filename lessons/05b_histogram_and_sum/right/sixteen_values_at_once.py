"""A block has values that lie side by side; all else as ever."""

import numba
from numba import cuda
from numba import float32 as single

from kernels.histogram import PIXELS_PER_THREAD


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(256, numba.float32)
    count = values.shape[0]
    first = cuda.blockIdx.x * 256 * PIXELS_PER_THREAD + cuda.threadIdx.x
    mine = single(0.0)
    for j in range(PIXELS_PER_THREAD):
        place = first + j * 256
        if place >= count:
            break
        mine += values[place]
    sums[cuda.threadIdx.x] = mine
    active = 128
    while active:
        cuda.syncthreads()
        if cuda.threadIdx.x < active:
            sums[cuda.threadIdx.x] += sums[cuda.threadIdx.x + active]
        active >>= 1
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, sums[0])
