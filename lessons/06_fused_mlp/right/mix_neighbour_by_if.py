"""The neighbour of the last unit by an if; max in place of relu; the guard of samples around all of the loading."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES


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
            neighbour = column + 1
            if neighbour == TILE:
                neighbour = 0
            following = activations[source, local_sample, neighbour]
            activations[1 - source, local_sample, column] = max(unit - following, float32(0))
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = activations[layers % 2, local_sample, column]
