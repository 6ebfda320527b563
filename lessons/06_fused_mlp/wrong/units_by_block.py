"""Units are chosen by cuda.blockIdx.y, but the grid has one row of blocks."""
# caught by: wide_and_deep
# diagnosis: uninitialised

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    """outputs (B,) = relu(sums) (B, 16) @ weights (16,), all float32: one unit behind a ReLU."""
    passed = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < sums.shape[0]:
            passed[local_sample, column] = relu(sums[sample, column])
        else:
            passed[local_sample, column] = float32(0)
    cuda.syncthreads()
    number = row * TILE + column
    if number < TILE_SAMPLES and first_sample + number < sums.shape[0]:
        total = float32(0)
        for i in range(TILE):
            total += passed[number, i] * weights[i]
        outputs[first_sample + number] = total


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


@cuda.jit
def mix_units(features, layers, outputs):
    """`layers` layers whose weights are 1 and -1, with ReLU; features, outputs (B, 16) float32."""
    buf = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    batch = features.shape[0]
    base = cuda.blockIdx.x * TILE_SAMPLES
    right = 0 if x == TILE - 1 else x + 1
    for s in range(y, TILE_SAMPLES, TILE):
        buf[0, s, x] = float32(0)
        if base + s < batch:
            buf[0, s, x] = features[base + s, x]
    cuda.syncthreads()

    old = 0
    new = 1
    for layer in range(layers):
        for s in range(y, TILE_SAMPLES, TILE):
            buf[new, s, x] = relu(buf[old, s, x] - buf[old, s, right])
        old, new = new, old
        cuda.syncthreads()

    for s in range(y, TILE_SAMPLES, TILE):
        if base + s < batch:
            outputs[base + s, x] = buf[old, s, x]


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block."""
    acts = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    w_tile = cuda.shared.array((TILE, TILE), float32)
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    layers, batch, width = hidden.shape
    first = cuda.blockIdx.x * TILE_SAMPLES
    unit = cuda.blockIdx.y * TILE + x

    for j in range(SAMPLES_PER_THREAD):
        s = y + j * TILE
        acts[0, s, x] = features[first + s, x] if first + s < batch else float32(0)

    start = 0
    for layer in range(layers + 1):
        fan_in = FEATURES if layer == 0 else width
        fan_out = OUTPUTS if layer == layers else width
        now = layer % 2
        for j in range(SAMPLES_PER_THREAD):
            sums[j] = float32(0)
        for tile in range(0, fan_in, TILE):
            w_tile[y, x] = float32(0)
            if unit < fan_out:
                w_tile[y, x] = weights[start + (tile + y) * fan_out + unit]
            cuda.syncthreads()
            for k in range(TILE):
                for j in range(SAMPLES_PER_THREAD):
                    sums[j] += acts[now, y + j * TILE, tile + k] * w_tile[k, x]
            cuda.syncthreads()
        if unit < fan_out:
            for j in range(SAMPLES_PER_THREAD):
                s = y + j * TILE
                if layer == layers:
                    if first + s < batch:
                        outputs[first + s, unit] = sigmoid(sums[j])
                else:
                    acts[1 - now, s, unit] = relu(sums[j])
                    if first + s < batch:
                        hidden[layer, first + s, unit] = relu(sums[j])
        start += fan_in * fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
