"""In mix_units two buffers save barriers: there is one after every second layer only."""
# caught by: mix_units
# diagnosis: race

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    """outputs (B,) = relu(sums) (B, 16) @ weights (16,), all float32: one unit behind a ReLU."""
    tile = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    begin = cuda.blockIdx.x * TILE_SAMPLES
    end = min(begin + TILE_SAMPLES, sums.shape[0])
    g = begin + ty
    while g < end:
        tile[g - begin, tx] = relu(sums[g, tx])
        g += TILE
    cuda.syncthreads()
    if ty < SAMPLES_PER_THREAD:
        g = begin + ty * TILE + tx
        if g < end:
            acc = float32(0)
            for k in range(TILE):
                acc += tile[g - begin, k] * weights[k]
            outputs[g] = acc


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


@cuda.jit
def mix_units(features, layers, outputs):
    """`layers` layers whose weights are 1 and -1, with ReLU; features, outputs (B, 16) float32."""
    even = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    odd = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    begin = cuda.blockIdx.x * TILE_SAMPLES
    for place in range(ty, TILE_SAMPLES, TILE):
        if begin + place < features.shape[0]:
            even[place, tx] = features[begin + place, tx]
        else:
            even[place, tx] = float32(0)
    cuda.syncthreads()
    for layer in range(layers):
        for place in range(ty, TILE_SAMPLES, TILE):
            if layer % 2 == 0:
                odd[place, tx] = relu(even[place, tx] - even[place, (tx + 1) % TILE])
            else:
                even[place, tx] = relu(odd[place, tx] - odd[place, (tx + 1) % TILE])
        if layer % 2 == 1:
            cuda.syncthreads()
    for place in range(ty, TILE_SAMPLES, TILE):
        if begin + place < features.shape[0]:
            outputs[begin + place, tx] = even[place, tx] if layers % 2 == 0 else odd[place, tx]


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block."""
    levels = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    w = cuda.shared.array((TILE, TILE), float32)
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    begin = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape

    for j in range(SAMPLES_PER_THREAD):
        place = ty + j * TILE
        sample = begin + place
        if sample < batch:
            levels[0, place, tx] = features[sample, tx]
        else:
            levels[0, place, tx] = float32(0)

    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        fan_out = OUTPUTS if layer == layers else width
        source = layer % 2
        for unit_tile in range(0, fan_out, TILE):
            unit = unit_tile + tx
            for j in range(SAMPLES_PER_THREAD):
                sums[j] = float32(0)
            for input_tile in range(0, fan_in, TILE):
                w[ty, tx] = weights[offset + (input_tile + ty) * fan_out + unit]
                cuda.syncthreads()
                for k in range(TILE):
                    weight = w[k, tx]
                    for j in range(SAMPLES_PER_THREAD):
                        sums[j] += levels[source, ty + j * TILE, input_tile + k] * weight
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                place = ty + j * TILE
                sample = begin + place
                if layer < layers:
                    value = relu(sums[j])
                    levels[1 - source, place, unit] = value
                    if sample < batch:
                        hidden[layer, sample, unit] = value
                elif sample < batch:
                    outputs[sample, unit] = sigmoid(sums[j])
        offset += fan_in * fan_out
        fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
