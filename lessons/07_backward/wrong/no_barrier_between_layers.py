"""Two weight tiles take turns, and need one barrier; but nothing waits at the end of a layer."""
# caught by: loss
# diagnosis: the next round of the loop begins without one: put a second

from numba import cuda, float32

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


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tiles = cuda.shared.array((2, TILE, WEIGHT_PITCH), float32)
    squared_errors = cuda.shared.array(BLOCK_THREADS, float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    thread = row * TILE + column
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape

    share = float32(1) / (float32(batch) * float32(COLOURS))
    squares = float32(0)
    for q in range(SAMPLES_PER_THREAD):
        local_sample = row + q * TILE
        sample = first_sample + local_sample
        delta = float32(0)
        if sample < batch and column < COLOURS:
            y = outputs[sample, column]
            error = y - target[sample, column]
            squares += error * error
            delta = float32(2) * share * error * y * (float32(1) - y)
        tiles[0, local_sample, column] = delta
    squared_errors[thread] = squares
    cuda.syncthreads()
    active = BLOCK_THREADS // 2
    while active > 0:
        if thread < active:
            squared_errors[thread] += squared_errors[thread + active]
        cuda.syncthreads()
        active //= 2
    if thread == 0:
        cuda.atomic.add(loss_sum, 0, squared_errors[0] * share)

    turn = 0
    now = 0
    offset = weights.shape[0]
    for layer in range(layers, -1, -1):
        fan_in = width if layer > 0 else FEATURES
        fan_out = width if layer < layers else OUTPUTS
        offset -= fan_in * fan_out
        nxt = 1 - now
        for q in range(SAMPLES_PER_THREAD):
            local_sample = row + q * TILE
            sample = first_sample + local_sample
            for i in range(column, fan_in, TILE):
                value = float32(0)
                if sample < batch:
                    if layer > 0:
                        value = hidden[layer - 1, sample, i]
                    else:
                        value = features[sample, i]
                tiles[nxt, local_sample, i] = value
        cuda.syncthreads()
        for input_tile in range(0, fan_in, TILE):
            for unit_tile in range(0, fan_out, TILE):
                gradient = float32(0)
                for s in range(TILE_SAMPLES):
                    gradient += tiles[nxt, s, input_tile + row] * tiles[now, s, unit_tile + column]
                place = offset + (input_tile + row) * fan_out + unit_tile + column
                cuda.atomic.add(grad_weights, place, gradient)
        for input_tile in range(0, fan_in, TILE):
            for q in range(SAMPLES_PER_THREAD):
                totals[q] = float32(0)
            for unit_tile in range(0, fan_out, TILE):
                weight_tiles[turn, row, column] = weights[
                    offset + (input_tile + row) * fan_out + unit_tile + column
                ]
                cuda.syncthreads()
                for k in range(TILE):
                    for q in range(SAMPLES_PER_THREAD):
                        totals[q] += (
                            tiles[now, row + q * TILE, unit_tile + k]
                            * weight_tiles[turn, column, k]
                        )
                turn = 1 - turn
            for q in range(SAMPLES_PER_THREAD):
                local_sample = row + q * TILE
                sample = first_sample + local_sample
                if layer > 0:
                    if tiles[nxt, local_sample, input_tile + column] > float32(0):
                        tiles[nxt, local_sample, input_tile + column] = totals[q]
                    else:
                        tiles[nxt, local_sample, input_tile + column] = float32(0)
                elif sample < batch and column < GRID_CHANNELS:
                    scatter(grad_feature_grid, uv[sample, 0], uv[sample, 1], column, totals[q])
        now = nxt
