"""Odd and even warps of a block count apart, so that fewer wait for each other."""

from numba import cuda, int32

from kernels.histogram import BLOCK_THREADS, MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    mine = cuda.shared.array((2, MAX_BINS), int32)
    thread = cuda.threadIdx.x
    half = (thread // 32) % 2
    bins = counts.shape[0]
    for i in range(thread, bins, BLOCK_THREADS):
        mine[0, i] = 0
        mine[1, i] = 0
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(mine, (half, bin_of(brightness[pixel], bins)), 1)
    cuda.syncthreads()
    for i in range(thread, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, mine[0, i] + mine[1, i])
