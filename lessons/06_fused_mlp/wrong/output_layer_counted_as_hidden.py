"""The last hidden layer is taken for the output layer."""
# caught by: one_hidden_layer
# diagnosis: one matrix too few

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    layers, batch, width = hidden.shape
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)

    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        if first_sample + local_sample < batch:
            activations[0, local_sample, column] = features[first_sample + local_sample, column]
        else:
            activations[0, local_sample, column] = float32(0)

    offset = 0
    fan_in = FEATURES
    for layer in range(layers):
        source = layer % 2
        is_last = layer == layers - 1
        fan_out = OUTPUTS if is_last else width
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
                        totals[j] += weight * activations[source, row + j * TILE, input_tile + k]
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                if is_last:
                    if sample < batch:
                        outputs[sample, unit] = sigmoid(totals[j])
                else:
                    activations[1 - source, local_sample, unit] = relu(totals[j])
                    if sample < batch:
                        hidden[layer, sample, unit] = relu(totals[j])
        offset += fan_in * fan_out
        fan_in = fan_out
