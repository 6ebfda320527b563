"""Where the centres begin: at points, drawn one after another, far ones rather than near ones.

    points (n, d), what is drawn already  ->  winners (k,) int64: a pair of ticket and point

The idea: with k-means++ a point's chance to become the next centre is proportional to its squared
distance from the centres that there are. To draw by running sums of 440,000 chances is a job for
one thread after another. But let every point draw a ticket by itself: -log(u) / distance, with u
uniform in (0, 1). That is an exponential variable whose rate is the distance, and the chance that
it is the lowest of all is exactly distance / sum of all distances. So the draw is a minimum, which
blocks find as they find a sum.

Source: Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007;
Efraimidis, Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters,
2006.
"""

import math

from numba import cuda, float32, int64, uint64
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.field_math import LOW_32_BITS, philox4x32
from kernels.launch import blocks_for, on_gpu
from kernels.palette.assign import MAX_NUMBERS, squared_distance
from kernels.reductions.maximum import index_of, pair_of

NOBODY = 2**63 - 1  # what a winner is before anybody has drawn


@register_jitable
def ticket(distance, point, number, seed):
    """What a point draws to become centre `number`; the lowest ticket wins: float32, above 0.

    distance: float32, at least 0. point, number: whole numbers. seed: uint64.
    """
    if distance == float32(0):
        return float32(math.inf)
    low_32_bits = uint64(LOW_32_BITS)
    word, _, _, _ = philox4x32(
        uint64(point), uint64(number), uint64(0), uint64(0),
        seed & low_32_bits, seed >> uint64(32),
    )  # fmt: skip
    # 23 bits and a half: float32 holds them exactly, and neither 0 nor 1 is among them.
    share = (float32(word >> uint64(9)) + float32(0.5)) * float32(2.0**-23)
    return -math.log(share) / distance


@cuda.jit
def draw(points, centres, number, seed, distances, winners):
    """Draw the point that becomes centre `number`. One thread per point.

    points: (n, d), centres: (k, d) float32, of which those below `number` are there. seed: uint64.
    distances: (n,) float32, to the nearest of the centres below `number` - 1; becomes that to the
    nearest below `number`, and stays for number 0. winners: (k,) int64, NOBODY before; winners
    [number] becomes the pair of the lowest ticket and its point: see
    `kernels/reductions/maximum.py`.
    """
    own_centre = cuda.shared.array(MAX_NUMBERS, float32)
    best = cuda.shared.array(BLOCK_THREADS, int64)
    point = cuda.grid(1)
    thread = cuda.threadIdx.x
    if number > 0:
        for channel in range(thread, centres.shape[1], BLOCK_THREADS):
            own_centre[channel] = centres[number - 1, channel]
    # The centre that came last has to be there before a point is compared with it.
    cuda.syncthreads()

    pair = int64(NOBODY)
    if point < points.shape[0]:
        distance = distances[point]
        if number > 0:
            distance = min(distance, squared_distance(points, point, own_centre, 0))
            distances[point] = distance
        pair = pair_of(ticket(distance, point, number, seed), point)
    best[thread] = pair

    active = BLOCK_THREADS // 2
    while active > 0:
        # Nobody may read a pair before its owner has written it.
        cuda.syncthreads()
        if thread < active:
            best[thread] = min(best[thread], best[thread + active])
        active //= 2
    if thread == 0:
        cuda.atomic.min(winners, number, best[0])


@cuda.jit
def place(points, winners, number, centres):
    """Put centre `number` where the point lies that has won. One block, a thread per channel."""
    point = index_of(winners[number])
    for channel in range(cuda.threadIdx.x, points.shape[1], BLOCK_THREADS):
        centres[number, channel] = points[point, channel]


def launch_draw(points, centres, number, seed, distances, winners, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(draw, blocks, BLOCK_THREADS, points, centres, number, seed, distances, winners)


def launch_place(points, winners, number, centres, launch=on_gpu):
    launch(place, 1, BLOCK_THREADS, points, winners, number, centres)
