"""The sum of each column of a matrix: what a bias has for a gradient.

    values (rows, columns)  ->  sums (columns,)

The idea: a bias is added to every sample, so its gradient is the sum of delta over the samples.
Rows lie one after the other in memory: the 32 threads of a warp read 32 neighbours of one row, and
not 32 elements of one column, which are far apart. Each goes down its column. Eight warps of a
block take every eighth row each; then their eight sums become one, in shared memory, always in the
same order. No two blocks share a column, so nothing has to be atomic, and the bits are the same in
every run.

Source: Harris, "How to access global memory efficiently in CUDA C/C++ kernels", NVIDIA, 2013.
"""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu

STRIP_COLUMNS = 32  # a block's: one per thread of a warp
STRIP_WARPS = 8


@cuda.jit
def column_sums(values, sums):
    """sums (columns,) = the sum of values (rows, columns) over its rows, both float32.

    Blocks of STRIP_COLUMNS x STRIP_WARPS threads, each for STRIP_COLUMNS columns.
    """
    partial_sums = cuda.shared.array((STRIP_WARPS, STRIP_COLUMNS), float32)
    x, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * STRIP_COLUMNS + x

    total = float32(0)
    if column < values.shape[1]:
        for row in range(warp, values.shape[0], STRIP_WARPS):
            total += values[row, column]
    partial_sums[warp, x] = total
    # The sums of all warps must be there before one of them adds them up.
    cuda.syncthreads()

    if warp == 0 and column < values.shape[1]:
        for other in range(1, STRIP_WARPS):
            total += partial_sums[other, x]
        sums[column] = total


def launch_column_sums(values, sums, launch=on_gpu):
    blocks = blocks_for(values.shape[1], STRIP_COLUMNS)
    launch(column_sums, blocks, (STRIP_COLUMNS, STRIP_WARPS), values, sums)
