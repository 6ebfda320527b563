"""The steps are half as wide as the grid: pixels are counted twice."""
# caught by: shared
# diagnosis: Pixels 128 to 999 are counted twice

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    hist = cuda.shared.array(MAX_BINS, int32)
    t = cuda.threadIdx.x
    nbins = counts.shape[0]
    for k in range(t, nbins, BLOCK_THREADS):
        hist[k] = 0
    cuda.syncthreads()
    for p in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1) // 2):
        cuda.atomic.add(hist, bin_of(brightness[p], nbins), 1)
    cuda.syncthreads()
    for k in range(t, nbins, BLOCK_THREADS):
        cuda.atomic.add(counts, k, hist[k])
