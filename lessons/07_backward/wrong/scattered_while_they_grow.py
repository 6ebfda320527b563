"""The totals are scattered after each tile of units, while they still grow."""
# caught by: grid
# diagnosis: while they grow

from numba import cuda, float32

from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)
from kernels.field_math import corner_weights, neighbours


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    w_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    errors = cuda.shared.array(BLOCK_THREADS, float32)
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = y * TILE + x
    first = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape
    mean = float32(1) / (float32(batch) * float32(COLOURS))

    my_error = float32(0)
    for j in range(SAMPLES_PER_THREAD):
        place = y + j * TILE
        sample = first + place
        tiles[0, place, x] = float32(0)
        if sample < batch and x < COLOURS:
            out = outputs[sample, x]
            diff = out - target[sample, x]
            my_error += diff * diff
            tiles[0, place, x] = float32(2) * diff * mean * out * (float32(1) - out)
    errors[t] = my_error
    half = BLOCK_THREADS // 2
    while half >= 1:
        cuda.syncthreads()
        if t < half:
            errors[t] = errors[t] + errors[t + half]
        half = half // 2
    if t == 0:
        cuda.atomic.add(loss_sum, 0, errors[0] * mean)

    offset = weights.shape[0]
    now = 0
    for layer in range(layers, -1, -1):
        fan_in = FEATURES if layer == 0 else width
        fan_out = OUTPUTS if layer == layers else width
        offset -= fan_in * fan_out
        other = 1 - now

        for j in range(SAMPLES_PER_THREAD):
            place = y + j * TILE
            sample = first + place
            for i in range(x, fan_in, TILE):
                if sample >= batch:
                    tiles[other, place, i] = float32(0)
                elif layer > 0:
                    tiles[other, place, i] = hidden[layer - 1, sample, i]
                else:
                    tiles[other, place, i] = features[sample, i]
        cuda.syncthreads()

        # weights
        for i in range(y, fan_in, TILE):
            for u in range(x, fan_out, TILE):
                total = float32(0)
                for s in range(TILE_SAMPLES):
                    total += tiles[other, s, i] * tiles[now, s, u]
                cuda.atomic.add(grad_weights, offset + i * fan_out + u, total)

        # inputs
        for input_tile in range(0, fan_in, TILE):
            for j in range(SAMPLES_PER_THREAD):
                sums[j] = float32(0)
            for unit_tile in range(0, fan_out, TILE):
                w_tile[y, x] = weights[offset + (input_tile + y) * fan_out + unit_tile + x]
                cuda.syncthreads()
                for k in range(TILE):
                    for j in range(SAMPLES_PER_THREAD):
                        sums[j] += tiles[now, y + j * TILE, unit_tile + k] * w_tile[x, k]
                cuda.syncthreads()
                for j in range(SAMPLES_PER_THREAD):
                    sample = first + y + j * TILE
                    if layer == 0 and sample < batch and x < GRID_CHANNELS:
                        scatter(grad_feature_grid, uv[sample, 0], uv[sample, 1], x, sums[j])
            for j in range(SAMPLES_PER_THREAD):
                place = y + j * TILE
                sample = first + place
                if layer > 0:
                    if tiles[other, place, input_tile + x] <= float32(0):
                        sums[j] = float32(0)
                    tiles[other, place, input_tile + x] = sums[j]
        now = other
