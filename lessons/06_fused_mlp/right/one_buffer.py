"""The challenge: one buffer; a layer's results stay in registers until all have read."""

from numba import cuda, float32

from kernels.config import (
    FEATURES,
    MAX_HIDDEN,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
)
from kernels.field_math import relu, sigmoid

UNIT_TILES = MAX_HIDDEN // TILE


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array((UNIT_TILES, SAMPLES_PER_THREAD), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape

    for j in range(SAMPLES_PER_THREAD):
        sample = first_sample + row + j * TILE
        activations[row + j * TILE, column] = float32(0)
        if sample < batch:
            activations[row + j * TILE, column] = features[sample, column]

    offset = 0
    for layer in range(layers + 1):
        fan_in = FEATURES if layer == 0 else width
        fan_out = OUTPUTS if layer == layers else width
        for tile in range(UNIT_TILES):
            if tile * TILE < fan_out:
                unit = tile * TILE + column
                for j in range(SAMPLES_PER_THREAD):
                    totals[tile, j] = float32(0)
                for input_tile in range(0, fan_in, TILE):
                    weight_tile[row, column] = weights[offset + (input_tile + row) * fan_out + unit]
                    cuda.syncthreads()
                    for k in range(TILE):
                        weight = weight_tile[k, column]
                        for j in range(SAMPLES_PER_THREAD):
                            activation = activations[row + j * TILE, input_tile + k]
                            totals[tile, j] += weight * activation
                    cuda.syncthreads()
        for tile in range(UNIT_TILES):
            if tile * TILE < fan_out:
                unit = tile * TILE + column
                for j in range(SAMPLES_PER_THREAD):
                    sample = first_sample + row + j * TILE
                    if layer == layers:
                        if sample < batch:
                            outputs[sample, unit] = sigmoid(totals[tile, j])
                    else:
                        activation = relu(totals[tile, j])
                        activations[row + j * TILE, unit] = activation
                        if sample < batch:
                            hidden[layer, sample, unit] = activation
        offset += fan_in * fan_out
