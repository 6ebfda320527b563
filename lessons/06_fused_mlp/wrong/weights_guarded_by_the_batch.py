"""Threads without a sample fetch no weights, and put zeros into the weight tile."""
# caught by: ragged_batch
# diagnosis: do only threads that have a sample fetch weights

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    start = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        local_sample = y + j * TILE
        value = float32(0)
        if start + local_sample < sums.shape[0]:
            value = sums[start + local_sample, x]
        activations[local_sample, x] = max(value, float32(0))
    cuda.syncthreads()
    number = y * TILE + x
    if number >= TILE_SAMPLES or start + number >= sums.shape[0]:
        return
    result = float32(0)
    for k in range(TILE):
        result += weights[k] * activations[number, k]
    outputs[start + number] = result


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


@cuda.jit
def mix_units(features, layers, outputs):
    buffers = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    start = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        local_sample = y + j * TILE
        value = float32(0)
        if start + local_sample < features.shape[0]:
            value = features[start + local_sample, x]
        buffers[0, local_sample, x] = value
    source = 0
    for _ in range(layers):
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            local_sample = y + j * TILE
            difference = (
                buffers[source, local_sample, x] - buffers[source, local_sample, (x + 1) % TILE]
            )
            buffers[1 - source, local_sample, x] = max(float32(0), difference)
        source = 1 - source
    for j in range(SAMPLES_PER_THREAD):
        local_sample = y + j * TILE
        if start + local_sample < features.shape[0]:
            outputs[start + local_sample, x] = buffers[source, local_sample, x]


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    start = cuda.blockIdx.x * TILE_SAMPLES
    layers = hidden.shape[0]
    batch = hidden.shape[1]
    width = hidden.shape[2]

    for j in range(SAMPLES_PER_THREAD):
        local_sample = y + j * TILE
        if start + local_sample < batch:
            activations[0, local_sample, x] = features[start + local_sample, x]
        else:
            activations[0, local_sample, x] = float32(0)

    source = 0
    matrix = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        last = layer == layers
        fan_out = width
        if last:
            fan_out = OUTPUTS
        for unit_tile in range(0, fan_out, TILE):
            unit = unit_tile + x
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for input_tile in range(0, fan_in, TILE):
                if start + y < batch:
                    weight_tile[y, x] = weights[matrix + (input_tile + y) * fan_out + unit]
                else:
                    weight_tile[y, x] = float32(0)
                cuda.syncthreads()
                for j in range(SAMPLES_PER_THREAD):
                    for k in range(TILE):
                        totals[j] += (
                            activations[source, y + j * TILE, input_tile + k] * weight_tile[k, x]
                        )
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                local_sample = y + j * TILE
                sample = start + local_sample
                if last:
                    if sample < batch:
                        outputs[sample, unit] = sigmoid(totals[j])
                else:
                    activations[1 - source, local_sample, unit] = relu(totals[j])
                    if sample < batch:
                        hidden[layer, sample, unit] = relu(totals[j])
        source = 1 - source
        matrix += fan_in * fan_out
        fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
