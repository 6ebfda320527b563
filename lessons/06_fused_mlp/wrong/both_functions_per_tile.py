"""ReLU and sigmoid are applied after each tile of inputs."""
# caught by: wide_and_deep
# diagnosis: ReLU and sigmoid between tiles

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
def mlp_forward(features, weights, hidden, outputs):
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    layers, batch, width = hidden.shape
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            activations[0, local_sample, column] = features[sample, column]
        else:
            activations[0, local_sample, column] = float32(0)
    source = 0
    offset = 0
    for layer in range(layers + 1):
        fan_in = FEATURES if layer == 0 else width
        fan_out = OUTPUTS if layer == layers else width
        for unit_tile in range(0, fan_out, TILE):
            unit = unit_tile + column
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for input_tile in range(0, fan_in, TILE):
                weight_tile[row, column] = weights[offset + (input_tile + row) * fan_out + unit]
                cuda.syncthreads()
                for k in range(TILE):
                    weight = weight_tile[k, column]
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += activations[source, row + j * TILE, input_tile + k] * weight
                cuda.syncthreads()
                for j in range(SAMPLES_PER_THREAD):
                    totals[j] = relu(totals[j]) if layer < layers else sigmoid(totals[j])
            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                value = totals[j]
                activations[1 - source, local_sample, unit] = value
                if sample < batch:
                    if layer < layers:
                        hidden[layer, sample, unit] = value
                    else:
                        outputs[sample, unit] = value
        source = 1 - source
        offset += fan_in * fan_out
