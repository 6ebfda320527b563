"""A block has pixels that lie side by side, not in steps of the grid."""

from numba import cuda, int32

from kernels.histogram import BLOCK_THREADS, MAX_BINS, PIXELS_PER_THREAD, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    mine = cuda.shared.array(MAX_BINS, int32)
    thread, bins = cuda.threadIdx.x, counts.shape[0]
    for i in range(thread, bins, BLOCK_THREADS):
        mine[i] = int32(0)
    cuda.syncthreads()

    first = cuda.blockIdx.x * BLOCK_THREADS * PIXELS_PER_THREAD
    for j in range(PIXELS_PER_THREAD):
        pixel = first + j * BLOCK_THREADS + thread
        if pixel < brightness.shape[0]:
            cuda.atomic.add(mine, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()

    for i in range(thread, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, mine[i])
