"""A block begins with its own stretch, and goes on to the end of all pixels."""
# caught by: shared
# diagnosis: share ends where the next one's begins

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD


@register_jitable
def bin_of(brightness, bins):
    if brightness >= float32(1):
        return int32(bins - 1)
    return int32(brightness * float32(bins))


@cuda.jit
def histogram_shared(brightness, counts):
    tid = cuda.threadIdx.x
    nbins = counts.shape[0]
    hist = cuda.shared.array(MAX_BINS, int32)
    for k in range(tid, nbins, BLOCK_THREADS):
        hist[k] = int32(0)
    cuda.syncthreads()

    begin = cuda.blockIdx.x * BLOCK_THREADS * PIXELS_PER_THREAD
    for i in range(begin + tid, brightness.shape[0], BLOCK_THREADS):
        cuda.atomic.add(hist, bin_of(brightness[i], nbins), int32(1))
    cuda.syncthreads()

    for k in range(tid, nbins, BLOCK_THREADS):
        cuda.atomic.add(counts, k, hist[k])
