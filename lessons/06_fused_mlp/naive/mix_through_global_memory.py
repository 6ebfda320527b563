"""The outputs are the buffer between the layers."""
# points: 9

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    activations = cuda.local.array(SAMPLES_PER_THREAD, float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = features[sample, column]
    for layer in range(layers):
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            sample = first_sample + row + j * TILE
            if sample < batch:
                activations[j] = relu(
                    outputs[sample, column] - outputs[sample, (column + 1) % TILE]
                )
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            sample = first_sample + row + j * TILE
            if sample < batch:
                outputs[sample, column] = activations[j]
