"""A thread adds up its own four samples only."""
# caught by: add_weight_gradients
# diagnosis: own samples only

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)
from kernels.field_math import corner_weights, neighbours


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    a = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    d = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = activations.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        s = row + j * TILE
        if first_sample + s < batch:
            a[s, column] = activations[first_sample + s, column]
            d[s, column] = deltas[first_sample + s, column]
        else:
            a[s, column] = float32(0)
            d[s, column] = float32(0)
    cuda.syncthreads()
    total = float32(0)
    for j in range(SAMPLES_PER_THREAD):
        s = row + j * TILE
        total += a[s, row] * d[s, column]
    cuda.atomic.add(grad_weights, (row, column), total)
