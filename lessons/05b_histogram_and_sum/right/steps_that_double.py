"""The steps of the tree double, and each block has a stretch of its own."""

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.histogram import PIXELS_PER_THREAD

STRETCH = BLOCK_THREADS * PIXELS_PER_THREAD


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(BLOCK_THREADS, float32)
    me = cuda.threadIdx.x
    begin = cuda.blockIdx.x * STRETCH
    end = min(begin + STRETCH, values.size)
    own = float32(0)
    for here in range(begin + me, end, BLOCK_THREADS):
        own += values[here]
    sums[me] = own
    step = 1
    while step < BLOCK_THREADS:
        cuda.syncthreads()
        left = 2 * step * me
        if left < BLOCK_THREADS:
            sums[left] += sums[left + step]
        step *= 2
    if me == 0:
        cuda.atomic.add(total, 0, sums[0])
