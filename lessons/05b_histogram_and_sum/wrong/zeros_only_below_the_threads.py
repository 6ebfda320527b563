"""One bin per thread is set to zero; there may be more bins than threads."""
# caught by: shared
# diagnosis: uninitialised

from numba import cuda, int32

from kernels.histogram import BLOCK_THREADS, MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    own_counts = cuda.shared.array(MAX_BINS, int32)
    thread = cuda.threadIdx.x
    bins = counts.shape[0]

    if thread < bins:
        own_counts[thread] = 0
    cuda.syncthreads()

    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(own_counts, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()

    for i in range(thread, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, own_counts[i])
