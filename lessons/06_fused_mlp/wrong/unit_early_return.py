"""Threads without a sample go home before the barrier."""
# caught by: relu_unit
# diagnosis: Have its threads left?

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = sums.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample >= batch:
            return
        activations[local_sample, column] = relu(sums[sample, column])
    cuda.syncthreads()
    thread = row * TILE + column
    sample = first_sample + thread
    if thread < TILE_SAMPLES and sample < batch:
        total = float32(0)
        for i in range(TILE):
            total += activations[thread, i] * weights[i]
        outputs[sample] = total
