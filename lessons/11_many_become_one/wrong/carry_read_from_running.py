"""Each round reads from running what the round before has come to, with no barrier between."""
# caught by: prefix_sum
# diagnosis: what a round begins with is kept by each thread itself

from numba import cuda, int32

from kernels.config import BLOCK_THREADS, WARP
from kernels.reductions.prefix_sum import PART, warp_prefix
from kernels.reductions.sums import WARPS, block_sum, warp_sum


@cuda.jit
def prefix_sum(counts, part_sums, running):
    warp_sums = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % WARP, thread // WARP
    length = counts.shape[0]
    begin = cuda.blockIdx.x * PART
    end = min(begin + PART, length)

    lower_parts = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        lower_parts += part_sums[part]
    carry = block_sum(lower_parts, warp_sums)
    cuda.syncthreads()

    for start in range(begin, end, BLOCK_THREADS):
        if start > begin:
            carry = running[start - 1]
        index = start + thread
        value = counts[index] if index < length else int32(0)
        value = warp_prefix(value)
        if lane == WARP - 1:
            warp_sums[warp] = value
        cuda.syncthreads()
        of_warp = warp_sums[lane % WARPS]
        cuda.syncthreads()
        value += warp_sum(of_warp if lane % WARPS < warp else int32(0), WARPS)
        if index < length:
            running[index] = carry + value
