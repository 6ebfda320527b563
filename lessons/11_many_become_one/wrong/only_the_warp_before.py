"""Of the warps before this one only the last is added."""
# caught by: prefix_sum
# diagnosis: only the warp before

from numba import cuda, int32

from kernels.config import BLOCK_THREADS
from kernels.reductions.prefix_sum import PART, warp_prefix
from kernels.reductions.sums import WARP, WARPS, block_sum


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_sums = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    lane = thread % WARP
    warp = thread // WARP

    before = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        before += part_sums[part]
    before = block_sum(before, warp_sums)
    cuda.syncthreads()

    first = cuda.blockIdx.x * PART
    for start in range(first, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        i = start + thread
        value = int32(0)
        if i < counts.shape[0]:
            value = counts[i]
        total = warp_prefix(value)
        if lane == WARP - 1:
            warp_sums[warp] = total
        cuda.syncthreads()
        lower = int32(0)
        of_round = int32(0)
        for w in range(WARPS):
            if w == warp - 1:
                lower += warp_sums[w]
            of_round += warp_sums[w]
        if i < counts.shape[0]:
            running[i] = before + lower + total
        before += of_round
        cuda.syncthreads()
