"""Bins are handed over from the number in the grid on."""
# caught by: shared
# diagnosis: handed over by grid

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    own_counts = cuda.shared.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for i in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        own_counts[i] = 0
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(own_counts, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()
    for i in range(cuda.grid(1), bins, BLOCK_THREADS):
        if own_counts[i] > 0:
            cuda.atomic.add(counts, i, own_counts[i])
