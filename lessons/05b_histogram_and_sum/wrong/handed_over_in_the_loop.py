"""The counts are handed over after every pixel."""
# caught by: shared
# diagnosis: again and again

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD


@cuda.jit
def histogram_shared(brightness, counts):
    own = cuda.shared.array(MAX_BINS, int32)
    thread = cuda.threadIdx.x
    bins = counts.shape[0]
    for i in range(thread, bins, BLOCK_THREADS):
        own[i] = 0
    cuda.syncthreads()
    start = cuda.blockIdx.x * BLOCK_THREADS * PIXELS_PER_THREAD
    for k in range(PIXELS_PER_THREAD):
        pixel = start + k * BLOCK_THREADS + thread
        if pixel < brightness.shape[0]:
            cuda.atomic.add(own, bin_of(brightness[pixel], bins), 1)
        cuda.syncthreads()
        for i in range(thread, bins, BLOCK_THREADS):
            cuda.atomic.add(counts, i, own[i])
        cuda.syncthreads()
