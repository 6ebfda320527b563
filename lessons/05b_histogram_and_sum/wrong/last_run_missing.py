"""Equal neighbours are added when the bin changes; the last ones never are."""
# caught by: shared
# diagnosis: last run missing

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    own = cuda.shared.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for i in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        own[i] = 0
    cuda.syncthreads()

    # A sky has long runs of one bin: add up a run in a register, and make one addition for it.
    run_bin = int32(0)
    run_length = int32(0)
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        this_bin = bin_of(brightness[pixel], bins)
        if this_bin != run_bin:
            if run_length > 0:
                cuda.atomic.add(own, run_bin, run_length)
            run_bin = this_bin
            run_length = int32(0)
        run_length += int32(1)
    cuda.syncthreads()

    for i in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        if own[i] != 0:
            cuda.atomic.add(counts, i, own[i])
