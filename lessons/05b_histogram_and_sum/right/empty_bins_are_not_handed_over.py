"""Only bins that are not empty are handed over; barriers more than enough."""

from numba import cuda, int32

from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    mine = cuda.shared.array(shape=MAX_BINS, dtype=int32)
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < MAX_BINS:
        mine[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(mine, bin_of(brightness[pixel], counts.shape[0]), 1)
        # Nobody is waited for here.
    cuda.syncthreads()
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, counts.shape[0], cuda.blockDim.x):
        if mine[i] > 0:
            cuda.atomic.add(counts, i, mine[i])
