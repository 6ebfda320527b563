"""The row has no `first`: every block loads the first rows of a."""
# caught by: registers
# diagnosis: first block again

from numba import cuda

from kernels.products.tiles import LOADS, SIDE, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = cuda.threadIdx.y, inner + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * SIDE, column)
