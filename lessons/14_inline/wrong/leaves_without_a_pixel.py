"""A thread beyond the picture returns before the barrier."""
# caught by: scatter
# diagnosis: barrier

from numba import cuda, float32

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS, CORNERS, PITCH


@cuda.jit
def scatter_block(gradient, grad_grid):
    shares = cuda.shared.array((CORNERS, PITCH), float32)
    deltas = cuda.shared.array((CHANNELS, PITCH), float32)
    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    shares[0, thread] = w0
    shares[1, thread] = w1
    shares[2, thread] = w2
    shares[3, thread] = w3
    for channel in range(CHANNELS):
        deltas[channel, thread] = gradient[y, x, channel]
    cuda.syncthreads()
    add_to_corners(shares, deltas, grad_grid)
