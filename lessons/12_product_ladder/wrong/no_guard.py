"""Numbers outside of the matrix are read."""
# caught by: registers
# diagnosis: out-of-bounds

from numba import cuda

from kernels.products.tiles import LOADS, SIDE


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.y, inner + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = matrix[row + i * SIDE, column]
