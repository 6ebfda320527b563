"""One variable for a thread's four samples: after the barrier all four get the last one's."""
# caught by: mix_units
# diagnosis: last of four

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    base = cuda.blockIdx.x * TILE_SAMPLES
    left = sums.shape[0] - base
    kept = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    for s in range(r, min(left, TILE_SAMPLES), TILE):
        kept[s, c] = relu(sums[base + s, c])
    cuda.syncthreads()
    number = c + TILE * r
    if number < min(left, TILE_SAMPLES):
        unit = float32(0)
        for k in range(TILE):
            unit += weights[k] * kept[number, k]
        outputs[base + number] = unit


@cuda.jit
def mix_units(features, layers, outputs):
    u, r = cuda.threadIdx.x, cuda.threadIdx.y
    base = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    units = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    for j in range(SAMPLES_PER_THREAD):
        s = r + j * TILE
        if base + s < batch:
            units[s, u] = features[base + s, u]
        else:
            units[s, u] = float32(0)
    cuda.syncthreads()
    new = float32(0)
    for layer in range(layers):
        for j in range(SAMPLES_PER_THREAD):
            s = r + j * TILE
            new = relu(units[s, u] - units[s, (u + 1) % TILE])
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            units[r + j * TILE, u] = new
        cuda.syncthreads()
    for j in range(SAMPLES_PER_THREAD):
        s = r + j * TILE
        if base + s < batch:
            outputs[base + s, u] = units[s, u]


@register_jitable
def fetch_tile(tile, weights, begin, fan_out, c, r):
    tile[r, c] = weights[begin + r * fan_out + c]


@register_jitable
def add_products(sums, tile, source, first_input, c, r):
    for j in range(SAMPLES_PER_THREAD):
        s = r + j * TILE
        for k in range(TILE):
            sums[j] += source[s, first_input + k] * tile[k, c]


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    base = cuda.blockIdx.x * TILE_SAMPLES
    depth, batch, width = hidden.shape
    numbers = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    tile = cuda.shared.array((TILE, TILE), float32)
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        s = r + j * TILE
        numbers[0, s, c] = float32(0)
        if base + s < batch:
            numbers[0, s, c] = features[base + s, c]
    begin = 0
    for layer in range(depth + 1):
        fan_in = width
        if layer == 0:
            fan_in = FEATURES
        fan_out = width
        if layer == depth:
            fan_out = OUTPUTS
        for first_unit in range(0, fan_out, TILE):
            for j in range(SAMPLES_PER_THREAD):
                sums[j] = float32(0)
            for first_input in range(0, fan_in, TILE):
                fetch_tile(tile, weights, begin + first_input * fan_out + first_unit, fan_out, c, r)
                cuda.syncthreads()
                add_products(sums, tile, numbers[layer % 2], first_input, c, r)
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                s = r + j * TILE
                if layer < depth:
                    result = relu(sums[j])
                    numbers[(layer + 1) % 2, s, first_unit + c] = result
                    if base + s < batch:
                        hidden[layer, base + s, first_unit + c] = result
                elif base + s < batch:
                    outputs[base + s, first_unit + c] = sigmoid(sums[j])
        begin += fan_in * fan_out


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
