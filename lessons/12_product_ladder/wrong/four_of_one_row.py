"""A thread reads four numbers of one row, and not of four rows."""
# caught by: registers
# diagnosis: a along its row

from numba import cuda

from kernels.products.tiles import LOADS, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row = first + cuda.threadIdx.y
    column = inner + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row, column + 16 * i)
