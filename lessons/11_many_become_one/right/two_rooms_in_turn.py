"""Two rooms for the sums of the warps, in turn: one barrier per round."""

from numba import cuda, int32

from kernels.config import BLOCK_THREADS, WARP
from kernels.reductions.prefix_sum import PART, warp_prefix
from kernels.reductions.sums import WARPS, block_sum

ROOMS = 2 * WARPS


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_sums = cuda.shared.array(ROOMS, int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % WARP, thread // WARP
    n = counts.shape[0]
    first = cuda.blockIdx.x * PART

    lower = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        lower += part_sums[part]
    before = block_sum(lower, warp_sums)

    room = WARPS
    for start in range(first, min(first + PART, n), BLOCK_THREADS):
        i = start + thread
        own = warp_prefix(counts[i] if i < n else int32(0))
        if lane == WARP - 1:
            warp_sums[room + warp] = own
        cuda.syncthreads()
        total = int32(0)
        for other in range(WARPS):
            if other == warp:
                own += total
            total += warp_sums[room + other]
        if i < n:
            running[i] = before + own
        before += total
        room = WARPS - room
