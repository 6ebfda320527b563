"""The loop over the warps ends one too early."""
# caught by: column_sums
# diagnosis: last warp missing

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x

    total = float32(0)
    if column < values.shape[1]:
        for row in range(warp, values.shape[0], STRIP_WARPS):
            total += values[row, column]
    partial_sums[warp, x] = total
    cuda.syncthreads()

    if warp == 0 and column < values.shape[1]:
        for other in range(1, STRIP_WARPS - 1):
            total += partial_sums[other, x]
        sums[column] = total
