"""All four loads read the same row."""
# caught by: registers
# diagnosis: one row for all

from numba import cuda

from kernels.products.tiles import LOADS, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.y, inner + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row, column)
