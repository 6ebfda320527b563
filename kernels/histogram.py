"""What many threads add up together: a histogram of the brightness, and its sum.

    brightness (n,)  ->  counts (bins,) int32, total (1,) float32     both added to

The idea: threads are many and results are few, so several add to one number at the same time, and
each addition has to be atomic. Atomic additions to one address wait in a queue, and global memory
is far away. So a block first adds up by itself, in shared memory: it counts in a histogram of its
own, or halves its partial sums until one is left. Then it adds what it has to global memory, once.
That pays if a block has many pixels, so each thread takes several. The backward pass adds up its
gradients and its loss in the same way.

Source: Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007; Harris, "Optimizing parallel
reduction in CUDA", NVIDIA, 2007.
"""

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu

MAX_BINS = 1024  # as many as a block has room for: the size of a shared array is a constant
PIXELS_PER_THREAD = 16


@register_jitable
def bin_of(brightness, bins):
    """Which of `bins` equal parts of [0, 1] a brightness is in, from 0: int32. 1 is in the last."""
    return min(int32(brightness * float32(bins)), int32(bins - 1))


@cuda.jit
def histogram_global(brightness, counts):
    """Add to counts (bins,) int32 how many of brightness (n,) float32 are in each bin.

    One thread per pixel, and one atomic addition to global memory for each.
    """
    pixel = cuda.grid(1)
    if pixel >= brightness.shape[0]:
        return

    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)


@cuda.jit
def histogram_shared(brightness, counts):
    """The same, with at most one atomic addition to global memory per bin and block.

    Blocks of BLOCK_THREADS threads, each with several pixels; bins from 1 to MAX_BINS.
    """
    own_counts = cuda.shared.array(MAX_BINS, int32)
    thread = cuda.threadIdx.x
    bins = counts.shape[0]

    # There may be more bins than threads, so a thread looks after several of them.
    for i in range(thread, bins, BLOCK_THREADS):
        own_counts[i] = 0
    # Nobody may count before all counts are zero.
    cuda.syncthreads()

    # Steps as wide as the whole grid: neighbouring threads always read neighbouring pixels.
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(own_counts, bin_of(brightness[pixel], bins), 1)
    # And the block's counts must be complete before they are handed over.
    cuda.syncthreads()

    for i in range(thread, bins, BLOCK_THREADS):
        cuda.atomic.add(counts, i, own_counts[i])


@cuda.jit
def sum_tree(values, total):
    """Add the sum of values (n,) to total (1,), both float32; one atomic addition per block.

    Blocks of BLOCK_THREADS threads, each with several values.
    """
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x

    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    # A thread without a value has a zero here: its place in the tree is read all the same.
    partial_sums[thread] = own_sum

    active = BLOCK_THREADS // 2
    while active > 0:
        # Nobody may read a partial sum before its owner has written it.
        cuda.syncthreads()
        if thread < active:
            partial_sums[thread] += partial_sums[thread + active]
        active //= 2
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
