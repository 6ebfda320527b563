"""Only thread 0 adds up the parts before, in a variable of its own."""
# caught by: prefix_sum
# diagnosis: only thread 0 of each block has what is in the parts before

from numba import cuda, int32

from kernels.config import BLOCK_THREADS, WARP
from kernels.reductions.prefix_sum import PART
from kernels.reductions.sums import WARPS


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_totals = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    warp, lane = thread // WARP, thread % WARP
    n = counts.shape[0]

    before = int32(0)
    if thread == 0:
        for part in range(cuda.blockIdx.x):
            before += part_sums[part]
    cuda.syncthreads()

    begin = cuda.blockIdx.x * PART
    end = min(begin + PART, n)
    for start in range(begin, end, BLOCK_THREADS):
        i = start + thread
        count = counts[i] if i < n else int32(0)
        up_to_me = warp_prefix(count)
        if lane == WARP - 1:
            warp_totals[warp] = up_to_me
        cuda.syncthreads()

        of_one_warp = warp_totals[lane % WARPS]
        of_lower_warps = warp_sum(of_one_warp if lane % WARPS < warp else int32(0), WARPS)
        if i < n:
            running[i] = before + of_lower_warps + up_to_me
        before += warp_sum(of_one_warp, WARPS)
        cuda.syncthreads()
