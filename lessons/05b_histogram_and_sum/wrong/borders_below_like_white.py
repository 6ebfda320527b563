"""Every brightness on a border is in the lower bin, as white is."""
# caught by: bin_of
# diagnosis: border in the lower bin

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD
from kernels.launch import blocks_for, on_gpu


@register_jitable
def bin_of(brightness, bins):
    position = brightness * float32(bins)
    number = int32(position)
    # exactly on the end of a bin: it still belongs to that bin
    if number > 0 and position == float32(number):
        number -= 1
    return int32(number)


@cuda.jit
def histogram_global(brightness, counts):
    me = cuda.grid(1)
    if me < brightness.shape[0]:
        cuda.atomic.add(counts, bin_of(brightness[me], counts.shape[0]), 1)


@cuda.jit
def histogram_shared(brightness, counts):
    mine = cuda.shared.array(MAX_BINS, int32)
    t = cuda.threadIdx.x
    bins = counts.shape[0]

    b = t
    while b < bins:
        mine[b] = 0
        b += BLOCK_THREADS
    cuda.syncthreads()

    p = cuda.grid(1)
    while p < brightness.shape[0]:
        cuda.atomic.add(mine, bin_of(brightness[p], bins), 1)
        p += cuda.gridsize(1)
    cuda.syncthreads()

    b = t
    while b < bins:
        if mine[b] != 0:
            cuda.atomic.add(counts, b, mine[b])
        b += BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(BLOCK_THREADS, float32)
    t = cuda.threadIdx.x
    own = float32(0)
    for p in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[p]
    sums[t] = own
    half = BLOCK_THREADS // 2
    while half >= 1:
        cuda.syncthreads()
        if t < half:
            sums[t] = sums[t] + sums[t + half]
        half = half // 2
    if t == 0:
        cuda.atomic.add(total, 0, sums[0])


def launch_histogram_global(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS)
    launch(histogram_global, blocks, BLOCK_THREADS, brightness, counts)


def launch_histogram_shared(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(histogram_shared, blocks, BLOCK_THREADS, brightness, counts)


def launch_sum_tree(values, total, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(sum_tree, blocks, BLOCK_THREADS, values, total)
