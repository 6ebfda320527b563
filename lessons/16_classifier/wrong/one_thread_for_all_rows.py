"""One thread of a block goes down 32 columns."""
# caught by: side_by_side
# diagnosis: column by column

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS


@cuda.jit
def column_sums(values, sums):
    if cuda.threadIdx.x > 0 or cuda.threadIdx.y > 0:
        return

    first = cuda.blockIdx.x * STRIP_COLUMNS
    for column in range(first, min(first + STRIP_COLUMNS, values.shape[1])):
        total = float32(0)
        for row in range(values.shape[0]):
            total += values[row, column]
        sums[column] = total
