"""Four threads share a sum over the pixels of a cell, each with its own addition."""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS, CORNERS, PIXELS


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    owner = thread // 4
    if owner < CORNERS * CHANNELS:
        corner = owner // CHANNELS
        channel = owner % CHANNELS
        total = float32(0)
        for pixel in range(thread % 4, PIXELS, 4):
            total += shares[corner, pixel] * deltas[channel, pixel]
        place = cuda.blockIdx.y + corner // 2, cuda.blockIdx.x + corner % 2, channel
        cuda.atomic.add(grad_grid, place, total)
