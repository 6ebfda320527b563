"""The first warp makes running sums of the eight totals, for all to read."""

from numba import cuda, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.reductions.prefix_sum import PART
from kernels.reductions.sums import ALL_LANES, WARP, WARPS, block_sum


@register_jitable
def warp_prefix(value):
    lane = cuda.threadIdx.x % WARP
    for step in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(ALL_LANES, value, step)
        value = value + (below if lane >= step else int32(0))
    return value


@cuda.jit
def prefix_sum(counts, part_sums, running):
    totals = cuda.shared.array(WARPS, int32)
    places = cuda.shared.array(WARP, int32)
    thread, size = cuda.threadIdx.x, counts.shape[0]
    lane, warp = thread % WARP, thread // WARP
    own = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        own += part_sums[part]
    before = block_sum(own, totals)
    first = cuda.blockIdx.x * PART
    last = min(first + PART, size)
    while first < last:
        i = first + thread
        count = int32(0)
        if i < size:
            count = counts[i]
        mine = warp_prefix(count)
        if lane == WARP - 1:
            places[warp] = mine
        cuda.syncthreads()
        if warp == 0:
            total = places[lane] if lane < WARPS else int32(0)
            total = warp_prefix(total)
            places[lane] = total
        cuda.syncthreads()
        if i < size:
            running[i] = before + mine + (places[warp - 1] if warp > 0 else 0)
        before += places[WARPS - 1]
        cuda.syncthreads()
        first += BLOCK_THREADS
