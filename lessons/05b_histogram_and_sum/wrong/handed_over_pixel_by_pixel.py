"""The loop that hands over goes over pixels: a bin's count is added once for each of them."""
# caught by: shared
# diagnosis: handed over pixel by pixel

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD
from kernels.launch import blocks_for, on_gpu


@register_jitable
def bin_of(brightness, bins):
    """Which of `bins` equal parts of [0, 1] a brightness is in, from 0: int32. 1 is in the last."""
    b = int32(brightness * float32(bins))
    if b == bins:
        b -= int32(1)
    return int32(b)


@cuda.jit
def histogram_global(brightness, counts):
    """Add to counts (bins,) int32 how many of brightness (n,) float32 are in each bin."""
    bins = counts.shape[0]
    pixel = cuda.grid(1)
    if pixel < brightness.shape[0]:
        b = bin_of(brightness[pixel], bins)
        cuda.atomic.add(counts, b, 1)


@cuda.jit
def histogram_shared(brightness, counts):
    """The same, with at most one atomic addition to global memory per bin and block."""
    own_counts = cuda.shared.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for b in range(cuda.threadIdx.x, bins, BLOCK_THREADS):
        own_counts[b] = 0
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        b = bin_of(brightness[pixel], bins)
        cuda.atomic.add(own_counts, b, 1)
    cuda.syncthreads()
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        b = bin_of(brightness[pixel], bins)
        cuda.atomic.add(counts, b, own_counts[b])


@cuda.jit
def sum_tree(values, total):
    """Add the sum of values (n,) to total (1,), both float32; one atomic addition per block."""
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    partial_sums[thread] = own
    active = 128
    while active != 0:
        cuda.syncthreads()
        if thread < active:
            partial_sums[thread] += partial_sums[thread + active]
        active >>= 1
    if thread == 0:
        cuda.atomic.add(total, 0, partial_sums[0])


def launch_histogram_global(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS)
    launch(histogram_global, blocks, BLOCK_THREADS, brightness, counts)


def launch_histogram_shared(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(histogram_shared, blocks, BLOCK_THREADS, brightness, counts)


def launch_sum_tree(values, total, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(sum_tree, blocks, BLOCK_THREADS, values, total)
