"""A block's columns begin 8 further on, and not 32."""
# caught by: column_sums
# diagnosis: strips overlap

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    shared = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_WARPS + x
    total = float32(0)
    if column < values.shape[1]:
        for row in range(y, values.shape[0], STRIP_WARPS):
            total += values[row, column]
    shared[y, x] = total
    cuda.syncthreads()
    if y == 0 and column < values.shape[1]:
        total = float32(0)
        for w in range(STRIP_WARPS):
            total += shared[w, x]
        sums[column] = total
