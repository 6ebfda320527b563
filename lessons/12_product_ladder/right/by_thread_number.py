"""Turned by the flat number of the thread, 256 numbers at once."""

from numba import cuda

from kernels.products.tiles import DEPTH, LOADS, SIDE, number_at


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        item = thread + i * SIDE * SIDE
        loaded[i] = number_at(matrix, first + item // DEPTH, inner + item % DEPTH)


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        item = thread + i * SIDE * SIDE
        tile[top + item % DEPTH, item // DEPTH] = loaded[i]
