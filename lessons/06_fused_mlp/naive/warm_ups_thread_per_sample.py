"""A thread has a sample for itself, reads it alone, and goes through a local array."""
# points: 8

from numba import cuda, float32

from kernels.config import TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    thread = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    sample = cuda.blockIdx.x * TILE_SAMPLES + thread
    if thread >= TILE_SAMPLES or sample >= sums.shape[0]:
        return
    total = float32(0)
    for i in range(TILE):
        total += relu(sums[sample, i]) * weights[i]
    outputs[sample] = total


@cuda.jit
def mix_units(features, layers, outputs):
    units = cuda.local.array((2, TILE), float32)
    thread = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    sample = cuda.blockIdx.x * TILE_SAMPLES + thread
    if thread >= TILE_SAMPLES or sample >= features.shape[0]:
        return
    for i in range(TILE):
        units[0, i] = features[sample, i]
    for layer in range(layers):
        for i in range(TILE):
            difference = units[layer % 2, i] - units[layer % 2, (i + 1) % TILE]
            units[1 - layer % 2, i] = relu(difference)
    for i in range(TILE):
        outputs[sample, i] = units[layers % 2, i]
