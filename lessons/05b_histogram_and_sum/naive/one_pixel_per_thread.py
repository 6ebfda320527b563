"""One pixel per thread, so a block hands over as many counts as it has pixels."""
# points: 8

from numba import cuda, int32

from kernels.histogram import BLOCK_THREADS, MAX_BINS, bin_of
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def histogram_shared(brightness, counts):
    own_counts = cuda.shared.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for i in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        own_counts[i] = 0
    cuda.syncthreads()
    pixel = cuda.grid(1)
    if pixel < brightness.shape[0]:
        cuda.atomic.add(own_counts, bin_of(brightness[pixel], bins), 1)
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, own_counts[i])


def launch_histogram_shared(brightness, counts, launch=on_gpu):
    launch(
        histogram_shared,
        blocks_for(brightness.shape[0], BLOCK_THREADS),
        BLOCK_THREADS,
        brightness,
        counts,
    )
