"""The partial sums are stored as [column, warp], and read as [warp, column]."""
# caught by: column_sums
# diagnosis: the warp comes first in both

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial = cuda.shared.array((STRIP_COLUMNS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x
    total = float32(0)
    if column < values.shape[1]:
        for row in range(warp, values.shape[0], STRIP_WARPS):
            total += values[row, column]
    partial[x, warp] = total
    cuda.syncthreads()
    if warp == 0 and column < values.shape[1]:
        for other in range(1, STRIP_WARPS):
            total += partial[other, x]
        sums[column] = total
