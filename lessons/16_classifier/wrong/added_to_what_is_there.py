"""Each warp adds to sums, which holds anything at first."""
# caught by: column_sums
# diagnosis: added to what was there

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    column = cuda.blockIdx.x * STRIP_COLUMNS + cuda.threadIdx.x
    if column >= values.shape[1]:
        return

    total = float32(0)
    for row in range(cuda.threadIdx.y, values.shape[0], STRIP_WARPS):
        total += values[row, column]
    cuda.atomic.add(sums, column, total)
