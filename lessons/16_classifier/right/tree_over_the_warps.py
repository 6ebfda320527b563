"""The eight sums of a column become one by a tree."""

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS


@cuda.jit
def column_sums(values, sums):
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x
    inside = column < values.shape[1]

    partial_sums[warp, x] = float32(0)
    for row in range(warp, values.shape[0], STRIP_WARPS):
        if inside:
            partial_sums[warp, x] += values[row, column]
    active = STRIP_WARPS // 2
    while active > 0:
        cuda.syncthreads()
        if warp < active:
            partial_sums[warp, x] += partial_sums[warp + active, x]
        active //= 2
    if warp == 0 and inside:
        sums[column] = partial_sums[0, x]
