"""The pixels add to 56 sums in shared memory, atomically."""
# caught by: few_additions
# diagnosis: a queue in shared memory

from numba import cuda, float32

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS, CORNERS


@cuda.jit
def scatter_block(gradient, grad_grid):
    sums = cuda.shared.array((CORNERS, CHANNELS), float32)
    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if thread < CORNERS * CHANNELS:
        sums[thread // CHANNELS, thread % CHANNELS] = float32(0)
    cuda.syncthreads()
    if x < gradient.shape[1] and y < gradient.shape[0]:
        w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
        for channel in range(CHANNELS):
            cuda.atomic.add(sums, (0, channel), w0 * gradient[y, x, channel])
            cuda.atomic.add(sums, (1, channel), w1 * gradient[y, x, channel])
            cuda.atomic.add(sums, (2, channel), w2 * gradient[y, x, channel])
            cuda.atomic.add(sums, (3, channel), w3 * gradient[y, x, channel])
    cuda.syncthreads()
    if thread < CORNERS * CHANNELS:
        corner = thread // CHANNELS
        channel = thread % CHANNELS
        place = cuda.blockIdx.y + corner // 2, cuda.blockIdx.x + corner % 2, channel
        cuda.atomic.add(grad_grid, place, sums[corner, channel])
