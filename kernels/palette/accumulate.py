"""The mean of the points of each centre: sums of a block first, and then one addition each.

    points (n, d), labels (n,)  ->  sums (k, d) float32, counts (k,) int32     both added to
    sums, counts                ->  centres (k, d)

The idea: 440,000 pixels of three colours, and each adds four numbers to one of 32 centres. An
atomic addition per number is 1,760,000 of them, in 128 queues. So a block adds up by itself first.
An atomic addition of floats in shared memory would queue, too; here every sum of the block has an
owner, a thread that goes through the block's labels and takes what is its own. It waits for nobody,
and 1,719 blocks make 128 additions each.

Source: as `assign.py`; Sanders, Kandrot, "CUDA by Example", 2010, chapter 9, for sums by blocks.
"""

from numba import cuda, float32, int32

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def accumulate(points, labels, sums, counts):
    """Add the points of every centre to its sums. One thread per point, then one per sum.

    points: (n, d) float32; labels: (n,) int32 in [0, k). Adds to sums (k, d) float32 and counts
    (k,) int32; a block of BLOCK_THREADS threads adds to each number once, or not at all.
    """
    own_labels = cuda.shared.array(BLOCK_THREADS, int32)
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * BLOCK_THREADS
    inside = min(BLOCK_THREADS, points.shape[0] - first)
    centres, channels = sums.shape

    if thread < inside:
        own_labels[thread] = labels[first + thread]
    # The owners of the sums look at the labels of all threads.
    cuda.syncthreads()

    for i in range(thread, centres * channels, BLOCK_THREADS):
        centre = i // channels
        channel = i % channels
        total = float32(0)
        found = int32(0)
        for k in range(inside):
            if own_labels[k] == centre:
                total += points[first + k, channel]
                found += int32(1)
        if found > 0:
            cuda.atomic.add(sums, (centre, channel), total)
            # The same count is found for every channel; one of them hands it over.
            if channel == 0:
                cuda.atomic.add(counts, centre, found)


@cuda.jit
def move(sums, counts, centres):
    """Move every centre to the mean of its points; one without points stays. A thread per number.

    sums: (k, d) float32, counts: (k,) int32; changes centres (k, d) float32.
    """
    i = cuda.grid(1)
    channels = centres.shape[1]
    if i >= centres.shape[0] * channels:
        return

    centre = i // channels
    if counts[centre] > 0:
        centres[centre, i % channels] = sums[centre, i % channels] / float32(counts[centre])


def launch_accumulate(points, labels, sums, counts, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(accumulate, blocks, BLOCK_THREADS, points, labels, sums, counts)


def launch_move(sums, counts, centres, launch=on_gpu):
    blocks = blocks_for(centres.shape[0] * centres.shape[1], BLOCK_THREADS)
    launch(move, blocks, BLOCK_THREADS, sums, counts, centres)
