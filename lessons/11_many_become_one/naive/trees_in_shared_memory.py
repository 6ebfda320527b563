"""Lesson 5b's tree in shared memory, with a barrier per round, for sums and maxima."""
# points: 9

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.reductions.maximum import larger


@cuda.jit
def sum_blocks(values, partials):
    sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    sums[thread] = own
    active = BLOCK_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            sums[thread] += sums[thread + active]
        active //= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = sums[0]


@cuda.jit
def max_blocks(values, partials):
    maxima = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(-math.inf)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = larger(own, values[i])
    maxima[thread] = own
    active = BLOCK_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            maxima[thread] = larger(maxima[thread], maxima[thread + active])
        active //= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = maxima[0]
