"""column_sums_by_blocks with a room for each column, so that one barrier is enough."""

from numba import cuda, float32

from kernels.reductions.sums import WARP, warp_sum


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    room = cuda.shared.array((8, 128), float32)
    row, thread = cuda.grid(1), cuda.threadIdx.x
    rows, columns = gradient.shape
    for column in range(columns):
        value = float32(0)
        if row < rows:
            value = gradient[row, column]
        room[thread // WARP, column] = warp_sum(value, WARP)
    cuda.syncthreads()
    if thread < columns:
        total = float32(0)
        for warp in range(8):
            total += room[warp, thread]
        cuda.atomic.add(sums, thread, total)
