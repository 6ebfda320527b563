"""The parts before this one are never added."""
# caught by: prefix_sum
# diagnosis: parts by themselves

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.reductions.prefix_sum import PART, warp_prefix
from kernels.reductions.sums import WARP, WARPS, block_sum


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_sums = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % WARP, thread // WARP
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for part in range(0):
        own_sum += part_sums[part]
    before = block_sum(own_sum, warp_sums)

    for start in range(first, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        i = start + thread
        running_sum = warp_prefix(counts[i] if i < counts.shape[0] else int32(0))
        cuda.syncthreads()
        if lane == WARP - 1:
            warp_sums[warp] = running_sum
        cuda.syncthreads()
        for other in range(warp):
            running_sum += warp_sums[other]
        if i < counts.shape[0]:
            running[i] = before + running_sum
        for other in range(WARPS):
            before += warp_sums[other]
