"""A block's pixels begin at cuda.grid(1), and lie 256 apart: blocks overlap."""
# caught by: shared
# diagnosis: block b begins at number 256 * b

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD


@cuda.jit
def histogram_shared(brightness, counts):
    block_counts = cuda.shared.array(MAX_BINS, int32)
    thread = cuda.threadIdx.x
    bins = counts.shape[0]
    b = thread
    while b < bins:
        block_counts[b] = 0
        b += BLOCK_THREADS
    cuda.syncthreads()

    # 16 pixels for each thread, 256 apart
    first = cuda.grid(1)
    for j in range(PIXELS_PER_THREAD):
        pixel = first + j * BLOCK_THREADS
        if pixel < brightness.shape[0]:
            cuda.atomic.add(block_counts, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()

    b = thread
    while b < bins:
        cuda.atomic.add(counts, b, block_counts[b])
        b += BLOCK_THREADS
