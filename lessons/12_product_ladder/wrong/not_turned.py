"""The turned piece is stored as it was read: its rows are 64, and the tile has 16."""
# caught by: registers
# diagnosis: out-of-bounds

from numba import cuda

from kernels.products.tiles import LOADS, SIDE


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    for i in range(LOADS):
        tile[top + cuda.threadIdx.y + i * SIDE, cuda.threadIdx.x] = loaded[i]
