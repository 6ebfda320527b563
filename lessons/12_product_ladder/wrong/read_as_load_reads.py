"""load_turned reads rows and columns as load does."""
# caught by: registers
# diagnosis: load_turned reads as load does

from numba import cuda

from kernels.products.tiles import LOADS, ROWS_AT_ONCE, SIDE, WIDTH, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    row = first + thread // WIDTH
    column = inner + thread % WIDTH
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * ROWS_AT_ONCE, column)
