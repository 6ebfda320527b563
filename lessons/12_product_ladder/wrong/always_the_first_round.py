"""The column has no `inner`: every round loads the first one's numbers of a."""
# caught by: registers
# diagnosis: a stays in the first round

from numba import cuda

from kernels.products.tiles import LOADS, SIDE, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.y, cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * SIDE, column)
