"""The weights' sums are divided by how many blocks there are, as if blocks were averaged."""
# caught by: last_layer
# diagnosis: sums divided by the blocks

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.backward import scatter
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


@register_jitable
def first_delta(outputs, target, tiles, begin, batch, tx, ty, mean):
    """Fill tiles[0] with the deltas of the outputs; return this thread's squared errors."""
    squares = float32(0)
    for s in range(ty, TILE_SAMPLES, TILE):
        tiles[0, s, tx] = float32(0)
        if tx < COLOURS and begin + s < batch:
            out = outputs[begin + s, tx]
            difference = out - target[begin + s, tx]
            squares += difference * difference
            slope = out * (float32(1) - out)
            tiles[0, s, tx] = float32(2) * mean * difference * slope
    return squares


@register_jitable
def block_sum(numbers, index):
    """A tree: afterwards numbers[0] is the sum of all."""
    stride = BLOCK_THREADS // 2
    while stride >= 1:
        cuda.syncthreads()
        if index < stride:
            numbers[index] = numbers[index] + numbers[index + stride]
        stride = stride // 2


@register_jitable
def fetch_inputs(features, hidden, layer, tiles, slot, begin, batch, fan_in, tx, ty):
    for s in range(ty, TILE_SAMPLES, TILE):
        for j in range(tx, fan_in, TILE):
            if begin + s >= batch:
                tiles[slot, s, j] = float32(0)
            elif layer == 0:
                tiles[slot, s, j] = features[begin + s, j]
            else:
                tiles[slot, s, j] = hidden[layer - 1, begin + s, j]


@register_jitable
def weights_of_layer(tiles, cur, grad_weights, offset, fan_in, fan_out, tx, ty):
    for i in range(ty, fan_in, TILE):
        for j in range(tx, fan_out, TILE):
            gradient = float32(0)
            for s in range(TILE_SAMPLES):
                gradient += tiles[1 - cur, s, i] * tiles[cur, s, j]
            cuda.atomic.add(
                grad_weights, offset + i * fan_out + j, gradient / float32(cuda.gridDim.x)
            )


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    squared_errors = cuda.shared.array(BLOCK_THREADS, float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    index = tx + TILE * ty
    batch = outputs.shape[0]
    begin = TILE_SAMPLES * cuda.blockIdx.x
    mean = float32(1) / (float32(batch) * float32(COLOURS))

    squared_errors[index] = first_delta(outputs, target, tiles, begin, batch, tx, ty, mean)
    block_sum(squared_errors, index)
    if index == 0:
        cuda.atomic.add(loss_sum, 0, mean * squared_errors[0])

    cur = 0
    end = weights.shape[0]
    layer = hidden.shape[0]
    fan_out = OUTPUTS
    while layer >= 0:
        fan_in = hidden.shape[2] if layer > 0 else FEATURES
        offset = end - fan_in * fan_out
        fetch_inputs(features, hidden, layer, tiles, 1 - cur, begin, batch, fan_in, tx, ty)
        cuda.syncthreads()
        weights_of_layer(tiles, cur, grad_weights, offset, fan_in, fan_out, tx, ty)
        for i0 in range(0, fan_in, TILE):
            for n in range(SAMPLES_PER_THREAD):
                totals[n] = float32(0)
            for j0 in range(0, fan_out, TILE):
                weight_tile[ty, tx] = weights[offset + (i0 + ty) * fan_out + j0 + tx]
                cuda.syncthreads()
                for n in range(SAMPLES_PER_THREAD):
                    for k in range(TILE):
                        totals[n] += tiles[cur, ty + n * TILE, j0 + k] * weight_tile[tx, k]
                cuda.syncthreads()
            for n in range(SAMPLES_PER_THREAD):
                s = ty + n * TILE
                if layer == 0:
                    if tx < GRID_CHANNELS and begin + s < batch:
                        u, v = uv[begin + s, 0], uv[begin + s, 1]
                        scatter(grad_feature_grid, u, v, tx, totals[n])
                else:
                    stopped = tiles[1 - cur, s, i0 + tx] == 0
                    tiles[1 - cur, s, i0 + tx] = float32(0) if stopped else totals[n]
        cur = 1 - cur
        end = offset
        fan_out = fan_in
        layer -= 1
