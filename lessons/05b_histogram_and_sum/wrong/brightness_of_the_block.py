"""Each thread counts its first pixel again and again."""
# caught by: shared
# diagnosis: first pixel again

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD


@cuda.jit
def histogram_shared(brightness, counts):
    own = cuda.shared.array(MAX_BINS, int32)
    thread = cuda.threadIdx.x
    bins = counts.shape[0]
    pixels = brightness.shape[0]
    for i in range(thread, bins, BLOCK_THREADS):
        own[i] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * BLOCK_THREADS * PIXELS_PER_THREAD
    for k in range(PIXELS_PER_THREAD):
        pixel = first + k * BLOCK_THREADS + thread
        if pixel < pixels:
            cuda.atomic.add(own, bin_of(brightness[first + thread], bins), 1)
    cuda.syncthreads()
    for i in range(thread, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, own[i])
