"""Every warp begins at row 0, so that all add the same rows."""
# caught by: column_sums
# diagnosis: every warp the same rows

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    shared = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x
    total = float32(0)
    if column < values.shape[1]:
        for row in range(0, values.shape[0], STRIP_WARPS):
            total += values[row, column]
    shared[y, x] = total
    cuda.syncthreads()
    if y == 0 and column < values.shape[1]:
        total = float32(0)
        for w in range(STRIP_WARPS):
            total += shared[w, x]
        sums[column] = total
