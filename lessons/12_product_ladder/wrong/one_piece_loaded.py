"""Each thread loads one number, of the four that it stores."""
# caught by: registers
# diagnosis: uninitialised

from numba import cuda

from kernels.products.tiles import number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.y, inner + cuda.threadIdx.x
    loaded[0] = number_at(matrix, row, column)
