"""Each warp has its rows side by side, and nobody those that are left of the division."""
# caught by: column_sums
# diagnosis: rest of the rows missing

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x

    total = float32(0)
    if column < values.shape[1]:
        rows = values.shape[0] // STRIP_WARPS
        for row in range(warp * rows, (warp + 1) * rows):
            total += values[row, column]
    partial_sums[warp, x] = total
    # The sums of all warps must be there before one of them adds them up.
    cuda.syncthreads()

    if warp == 0 and column < values.shape[1]:
        for other in range(1, STRIP_WARPS):
            total += partial_sums[other, x]
        sums[column] = total
