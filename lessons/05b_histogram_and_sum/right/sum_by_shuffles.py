"""A tree in each warp by shuffles, and one more over the eight warps."""

from numba import cuda, float32

WARPS = 8


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(WARPS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    for step in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
    if thread % 32 == 0:
        sums[thread // 32] = own
    cuda.syncthreads()
    if thread == 0:
        together = float32(0)
        for warp in range(WARPS):
            together += sums[warp]
        cuda.atomic.add(total, 0, together)
