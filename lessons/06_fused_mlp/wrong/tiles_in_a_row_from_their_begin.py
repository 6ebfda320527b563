"""A weight tile is fetched as 256 numbers in a row, but its rows are fan_out numbers apart."""
# caught by: wide_and_deep
# diagnosis: 256 from the tile's begin

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    batch = sums.shape[0]
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    after_relu = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            after_relu[local_sample, column] = relu(sums[sample, column])
    cuda.syncthreads()
    mine = row * TILE + column
    if mine < TILE_SAMPLES and first_sample + mine < batch:
        total = float32(0)
        for k in range(TILE):
            total += after_relu[mine, k] * weights[k]
        outputs[first_sample + mine] = total


@cuda.jit
def mix_units(features, layers, outputs):
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    batch = features.shape[0]
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    buffers = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        buffers[0, local_sample, column] = (
            features[sample, column] if sample < batch else float32(0)
        )
    for layer in range(layers):
        cuda.syncthreads()
        source = layer % 2
        for j in range(SAMPLES_PER_THREAD):
            local_sample = row + j * TILE
            here = buffers[source, local_sample, column]
            beside = buffers[source, local_sample, (column + 1) % TILE]
            buffers[1 - source, local_sample, column] = max(here - beside, float32(0))
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = buffers[layers % 2, local_sample, column]


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    layers, batch, width = hidden.shape
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            activations[0, local_sample, column] = features[sample, column]
        else:
            activations[0, local_sample, column] = float32(0)
    offset = 0
    for layer in range(layers + 1):
        source = layer % 2
        fan_in = FEATURES if layer == 0 else width
        fan_out = OUTPUTS if layer == layers else width
        for unit_tile in range(0, fan_out, TILE):
            unit = unit_tile + column
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for input_tile in range(0, fan_in, TILE):
                tile_begin = offset + input_tile * fan_out + unit_tile
                weight_tile[row, column] = weights[tile_begin + row * TILE + column]
                cuda.syncthreads()
                for k in range(TILE):
                    weight = weight_tile[k, column]
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += weight * activations[source, row + j * TILE, input_tile + k]
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                if layer == layers:
                    if sample < batch:
                        outputs[sample, unit] = sigmoid(totals[j])
                else:
                    value = relu(totals[j])
                    activations[1 - source, local_sample, unit] = value
                    if sample < batch:
                        hidden[layer, sample, unit] = value
        offset += fan_in * fan_out


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
