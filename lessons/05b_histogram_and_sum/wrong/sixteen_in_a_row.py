"""Each thread takes sixteen pixels in a row, but begins at its own number, not 16 times it."""
# caught by: shared
# diagnosis: threads that take 16 in a row begin 16 apart

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD


@cuda.jit
def histogram_shared(brightness, counts):
    own_counts = cuda.shared.array(MAX_BINS, int32)
    for i in range(cuda.threadIdx.x, MAX_BINS, BLOCK_THREADS):
        own_counts[i] = 0
    cuda.syncthreads()
    start = cuda.grid(1)
    for pixel in range(start, min(start + PIXELS_PER_THREAD, brightness.shape[0])):
        cuda.atomic.add(own_counts, bin_of(brightness[pixel], counts.shape[0]), 1)
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, counts.shape[0], BLOCK_THREADS):
        cuda.atomic.add(counts, i, own_counts[i])
