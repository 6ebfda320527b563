"""The tree reads one row of sums and writes the other."""

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS


@register_jitable
def bin_of(brightness, bins):
    last = int32(bins) - int32(1)
    if brightness == float32(1.0):
        return last
    return int32(brightness * float32(bins))


@cuda.jit
def sum_tree(values, total):
    rows = cuda.shared.array((2, BLOCK_THREADS), float32)
    thread = cuda.threadIdx.x
    collected = float32(0)
    position = cuda.grid(1)
    while position < values.shape[0]:
        collected += values[position]
        position += cuda.gridsize(1)
    rows[0, thread] = collected
    now = 0
    left = BLOCK_THREADS // 2
    while left >= 1:
        cuda.syncthreads()
        if thread < left:
            rows[1 - now, thread] = rows[now, 2 * thread] + rows[now, 2 * thread + 1]
        now = 1 - now
        left //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, rows[now, 0])
