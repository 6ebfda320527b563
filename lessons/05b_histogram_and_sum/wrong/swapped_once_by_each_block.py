"""A block hands over its counts with a compare-and-swap each, and nobody asks if it has stored."""
# caught by: shared
# diagnosis: stores only if the element still holds

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    own = cuda.shared.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for b in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        own[b] = 0
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(own, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        before = cuda.atomic.add(counts, b, 0)
        was = cuda.atomic.cas(counts, b, before, before + own[b])
