"""`before` grows by the thread's own running sum, and not by the round's total."""
# caught by: prefix_sum
# diagnosis: own sum carried on

from numba import cuda, int32

from kernels.config import BLOCK_THREADS, WARP
from kernels.reductions.prefix_sum import PART
from kernels.reductions.sums import WARPS


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_sums = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % WARP, thread // WARP
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        own_sum += part_sums[part]
    before = block_sum(own_sum, warp_sums)

    # All threads go through every round: there are barriers in it.
    for start in range(first, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        i = start + thread
        running_sum = warp_prefix(counts[i] if i < counts.shape[0] else int32(0))
        # Nobody may write to warp_sums before all have read what the last round left there.
        cuda.syncthreads()
        if lane == WARP - 1:
            warp_sums[warp] = running_sum
        cuda.syncthreads()
        for other in range(warp):
            running_sum += warp_sums[other]
        if i < counts.shape[0]:
            running[i] = before + running_sum
        before += running_sum
