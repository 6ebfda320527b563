"""Each warp has a piece of neighbouring rows, and not every eighth."""

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x
    rows = values.shape[0]
    each = (rows + STRIP_WARPS - 1) // STRIP_WARPS

    total = float32(0)
    for row in range(warp * each, min((warp + 1) * each, rows)):
        if column < values.shape[1]:
            total += values[row, column]
    partial_sums[warp, x] = total
    cuda.syncthreads()

    total = float32(0)
    if warp == 0 and column < values.shape[1]:
        for other in range(STRIP_WARPS):
            total += partial_sums[other, x]
        sums[column] = total
