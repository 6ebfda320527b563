"""Which centre each point is nearest to.

    points (n, d), centres (k, d)  ->  labels (n,) int32, distances (n,) float32

The idea: a thread has a point, and compares it with every centre. All threads of a block need the
same centres, so the block fetches them once, into shared memory; there a centre's number is read by
a whole warp at once, as one request.

Source: Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory, 1982.
"""

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu

MAX_NUMBERS = 4096  # of all centres together: a block has room for so many, in 16 KiB


@register_jitable
def squared_distance(points, point, numbers, first):
    """The squared distance between a point and a centre: float32.

    points: (n, d) float32. numbers: flat; those of the centre are numbers[first], and d - 1 more.
    """
    total = float32(0)
    for channel in range(points.shape[1]):
        difference = points[point, channel] - numbers[first + channel]
        total += difference * difference
    return total


@cuda.jit
def assign(points, centres, labels, distances):
    """The nearest centre of every point, and its squared distance. One thread per point.

    points: (n, d), centres: (k, d) float32, at most MAX_NUMBERS numbers. Sets labels (n,) int32,
    from 0, the lowest of those equally near; and distances (n,) float32.
    """
    own_centres = cuda.shared.array(MAX_NUMBERS, float32)
    point = cuda.grid(1)
    count, channels = centres.shape

    for i in range(cuda.threadIdx.x, count * channels, BLOCK_THREADS):
        own_centres[i] = centres[i // channels, i % channels]
    # Nobody may compare before all centres are there; a thread without a point fetches, too.
    cuda.syncthreads()
    if point >= points.shape[0]:
        return

    nearest = int32(0)
    least = float32(math.inf)
    for centre in range(count):
        distance = squared_distance(points, point, own_centres, centre * channels)
        if distance < least:
            least = distance
            nearest = int32(centre)
    labels[point] = nearest
    distances[point] = least


def launch_assign(points, centres, labels, distances, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(assign, blocks, BLOCK_THREADS, points, centres, labels, distances)
