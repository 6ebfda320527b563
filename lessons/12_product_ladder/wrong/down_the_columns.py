"""Neighbours read different rows: a sector for each of them."""
# caught by: neighbours
# diagnosis: neighbours read far apart

from numba import cuda

from kernels.products.tiles import LOADS, SIDE, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.x, inner + cuda.threadIdx.y
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * SIDE, column)


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    for i in range(LOADS):
        tile[top + cuda.threadIdx.y, cuda.threadIdx.x + i * SIDE] = loaded[i]
