"""What was read of a is stored as it was read, and not turned."""
# caught by: registers
# diagnosis: a not turned

from numba import cuda

from kernels.products.tiles import LOADS


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    for i in range(LOADS):
        tile[top + cuda.threadIdx.y, cuda.threadIdx.x + 16 * i] = loaded[i]
