"""One buffer: everybody reads, a barrier, everybody writes, a barrier."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    differences = cuda.local.array(SAMPLES_PER_THREAD, float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        value = float32(0)
        if sample < batch:
            value = features[sample, column]
        activations[local_sample, column] = value
    for layer in range(layers):
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            local_sample = row + j * TILE
            unit = activations[local_sample, column]
            following = activations[local_sample, (column + 1) % TILE]
            differences[j] = relu(unit - following)
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            activations[row + j * TILE, column] = differences[j]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = activations[local_sample, column]
