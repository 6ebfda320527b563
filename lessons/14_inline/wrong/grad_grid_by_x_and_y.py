"""grad_grid is indexed with the column first."""
# caught by: scatter
# diagnosis: corners exchanged

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x < gradient.shape[1] and y < gradient.shape[0]:
        left, top = cuda.blockIdx.x, cuda.blockIdx.y
        w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
        for channel in range(CHANNELS):
            value = gradient[y, x, channel]
            cuda.atomic.add(grad_grid, (left, top, channel), w0 * value)
            cuda.atomic.add(grad_grid, (left + 1, top, channel), w1 * value)
            cuda.atomic.add(grad_grid, (left, top + 1, channel), w2 * value)
            cuda.atomic.add(grad_grid, (left + 1, top + 1, channel), w3 * value)
