"""error is target - output: the training runs uphill."""
# caught by: last_layer
# diagnosis: sign is reversed

from numba import cuda, float32

from kernels.backward import BLOCK_THREADS, WEIGHT_PITCH, scatter
from kernels.config import (
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
)


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    squared_errors = cuda.shared.array(BLOCK_THREADS, float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)

    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    thread = row * TILE + column
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape
    scale = float32(1) / (float32(batch) * float32(COLOURS))

    squared_error = float32(0)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        delta = float32(0)
        if sample < batch and column < COLOURS:
            output = outputs[sample, column]
            error = target[sample, column] - output
            squared_error += error * error
            delta = float32(2) * scale * error * output * (float32(1) - output)
        tiles[0, local_sample, column] = delta

    squared_errors[thread] = squared_error
    active = BLOCK_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            squared_errors[thread] += squared_errors[thread + active]
        active //= 2
    if thread == 0:
        cuda.atomic.add(loss_sum, 0, squared_errors[0] * scale)

    offset = weights.shape[0]
    fan_out = OUTPUTS
    for step in range(layers + 1):
        layer = layers - step
        first_layer = layer == 0
        current = step % 2
        below = 1 - current
        fan_in = FEATURES if first_layer else width
        offset -= fan_in * fan_out

        for input_tile in range(0, fan_in, TILE):
            unit = input_tile + column
            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                activation = float32(0)
                if sample < batch:
                    if first_layer:
                        activation = features[sample, unit]
                    else:
                        activation = hidden[layer - 1, sample, unit]
                tiles[below, local_sample, unit] = activation
        cuda.syncthreads()

        for input_tile in range(0, fan_in, TILE):
            for unit_tile in range(0, fan_out, TILE):
                total = float32(0)
                for s in range(TILE_SAMPLES):
                    activation = tiles[below, s, input_tile + row]
                    delta = tiles[current, s, unit_tile + column]
                    total += activation * delta
                weight = offset + (input_tile + row) * fan_out + unit_tile + column
                cuda.atomic.add(grad_weights, weight, total)
        for input_tile in range(0, fan_in, TILE):
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for unit_tile in range(0, fan_out, TILE):
                weight_tile[row, column] = weights[
                    offset + (input_tile + row) * fan_out + unit_tile + column
                ]
                cuda.syncthreads()
                for k in range(TILE):
                    weight = weight_tile[column, k]
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += weight * tiles[current, row + j * TILE, unit_tile + k]
                cuda.syncthreads()

            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                if first_layer:
                    if sample < batch and column < GRID_CHANNELS:
                        scatter(grad_feature_grid, uv[sample, 0], uv[sample, 1], column, totals[j])
                else:
                    passed = tiles[below, local_sample, input_tile + column] > float32(0)
                    delta = totals[j] if passed else float32(0)
                    tiles[below, local_sample, input_tile + column] = delta

        fan_out = fan_in
