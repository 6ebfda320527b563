"""mix_units applies the ReLU once, to the results of the last layer."""
# caught by: mix_units
# diagnosis: ReLU at the end only

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    """outputs (B,) = relu(sums) (B, 16) @ weights (16,), all float32: one unit behind a ReLU."""
    acts = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    batch = sums.shape[0]
    base = cuda.blockIdx.x * TILE_SAMPLES
    for s in range(y, TILE_SAMPLES, TILE):
        value = float32(0)
        if base + s < batch:
            value = sums[base + s, x]
        acts[s, x] = relu(value)
    cuda.syncthreads()

    s = y * TILE + x
    if s >= TILE_SAMPLES:
        return
    if base + s >= batch:
        return
    out = float32(0)
    for u in range(TILE):
        out = out + weights[u] * acts[s, u]
    outputs[base + s] = out


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
            buf[new, s, x] = buf[old, s, x] - buf[old, s, right]
        old, new = new, old
        cuda.syncthreads()

    for s in range(y, TILE_SAMPLES, TILE):
        if base + s < batch:
            result = buf[old, s, x]
            if layers > 0:
                result = relu(result)
            outputs[base + s, x] = result


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


@register_jitable
def product(acts, w_tile, source, s, input_tile, x):
    acc = float32(0)
    for k in range(TILE):
        acc += acts[source, s, input_tile + k] * w_tile[k, x]
    return acc


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block."""
    acts = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    w_tile = cuda.shared.array((TILE, TILE), float32)
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    layers, batch, width = hidden.shape
    base = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        s = y + j * TILE
        acts[0, s, x] = float32(0)
        if base + s < batch:
            acts[0, s, x] = features[base + s, x]
    old = 0
    first_weight = 0
    for layer in range(layers + 1):
        fan_in = width
        fan_out = width
        if layer == 0:
            fan_in = FEATURES
        if layer == layers:
            fan_out = OUTPUTS
        for unit in range(x, fan_out, TILE):
            for j in range(SAMPLES_PER_THREAD):
                sums[j] = float32(0)
            for input_tile in range(0, fan_in, TILE):
                w_tile[y, x] = weights[first_weight + (input_tile + y) * fan_out + unit]
                cuda.syncthreads()
                for j in range(SAMPLES_PER_THREAD):
                    sums[j] += product(acts, w_tile, old, y + j * TILE, input_tile, x)
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                s = y + j * TILE
                if layer == layers:
                    if base + s < batch:
                        outputs[base + s, unit] = sigmoid(sums[j])
                else:
                    acts[1 - old, s, unit] = relu(sums[j])
                    if base + s < batch:
                        hidden[layer, base + s, unit] = acts[1 - old, s, unit]
        first_weight += fan_in * fan_out
        old = 1 - old


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
