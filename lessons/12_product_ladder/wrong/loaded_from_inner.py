"""The row begins at `inner`, and the column at `first`."""
# caught by: registers
# diagnosis: a loaded as b

from numba import cuda

from kernels.products.tiles import LOADS, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row = inner + cuda.threadIdx.y
    column = first + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + 16 * i, column)
