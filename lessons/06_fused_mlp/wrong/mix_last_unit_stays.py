"""The last unit has no neighbour, and is its own."""
# caught by: mix_units
# diagnosis: last unit after itself

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        value = float32(0)
        if sample < batch:
            value = features[sample, column]
        activations[0, local_sample, column] = value
    for layer in range(layers):
        source = layer % 2
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            local_sample = row + j * TILE
            unit = activations[source, local_sample, column]
            following = activations[source, local_sample, min(column + 1, TILE - 1)]
            activations[1 - source, local_sample, column] = relu(unit - following)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = activations[layers % 2, local_sample, column]
