"""threadIdx.x counts rows: a warp reads 32 numbers of one column."""
# caught by: side_by_side
# diagnosis: column by column

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_COLUMNS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * STRIP_COLUMNS

    for place in range(warp, STRIP_COLUMNS, STRIP_WARPS):
        total = float32(0)
        if first + place < values.shape[1]:
            for row in range(x, values.shape[0], STRIP_COLUMNS):
                total += values[row, first + place]
        partial_sums[place, x] = total
    cuda.syncthreads()

    if warp == 0 and first + x < values.shape[1]:
        total = float32(0)
        for other in range(STRIP_COLUMNS):
            total += partial_sums[x, other]
        sums[first + x] = total
