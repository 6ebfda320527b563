"""The first layer is left out: range(1, layers)."""
# caught by: mix_units
# diagnosis: Layers are counted from 0

from numba import cuda, float32

from kernels.config import (
    FEATURES,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
)
from kernels.field_math import relu, sigmoid


@cuda.jit
def mix_units(features, layers, outputs):
    a = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        s = row + j * TILE
        if first_sample + s < batch:
            a[0, s, column] = features[first_sample + s, column]
        else:
            a[0, s, column] = float32(0)
    for layer in range(1, layers):
        source = layer % 2
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            s = row + j * TILE
            a[1 - source, s, column] = relu(a[source, s, column] - a[source, s, (column + 1) % 16])
    for j in range(SAMPLES_PER_THREAD):
        s = row + j * TILE
        if first_sample + s < batch:
            outputs[first_sample + s, column] = a[layers % 2, s, column]
