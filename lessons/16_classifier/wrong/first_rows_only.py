"""Each warp has a single row."""
# caught by: column_sums
# diagnosis: first rows only

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x

    total = float32(0)
    if column < values.shape[1]:
        if warp < values.shape[0]:
            total += values[warp, column]
    partial_sums[warp, x] = total
    cuda.syncthreads()

    if warp == 0 and column < values.shape[1]:
        for other in range(1, STRIP_WARPS):
            total += partial_sums[other, x]
        sums[column] = total
