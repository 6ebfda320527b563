"""A thread beyond the picture stores nothing in shared memory, and its column is summed."""
# caught by: scatter
# diagnosis: one without a pixel stores gradients of 0

from numba import cuda, float32

from kernels.field_math import corner_weights
from kernels.inline.paint import place_in_cell
from kernels.inline.scatter import add_to_corners
from kernels.inline.sizes import CELL, CHANNELS, CORNERS, PITCH


@cuda.jit
def scatter_block(gradient, grad_grid):
    shares = cuda.shared.array((CORNERS, PITCH), float32)
    deltas = cuda.shared.array((CHANNELS, PITCH), float32)
    x, y = cuda.grid(2)
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if x < gradient.shape[1] and y < gradient.shape[0]:
        tl, tr, bl, br = corner_weights(place_in_cell(x), place_in_cell(y))
        shares[0, me], shares[1, me] = tl, tr
        shares[2, me], shares[3, me] = bl, br
        for c in range(CHANNELS):
            deltas[c, me] = gradient[y, x, c]
    cuda.syncthreads()
    add_to_corners(shares, deltas, grad_grid)
