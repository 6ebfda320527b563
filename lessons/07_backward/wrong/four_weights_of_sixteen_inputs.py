"""A thread owns a weight per 16 of `width` inputs, and the first layer has only 16."""
# caught by: all_layers
# diagnosis: added to other weights

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
        sample = first_sample + row + j * TILE
        delta = float32(0)
        if sample < batch and column < COLOURS:
            output = outputs[sample, column]
            error = output - target[sample, column]
            squared_error += error * error
            slope = output * (float32(1) - output)
            delta = float32(2) * scale * error * slope
        tiles[0, row + j * TILE, column] = delta
    squared_errors[thread] = squared_error
    cuda.syncthreads()
    active = BLOCK_THREADS // 2
    while active > 0:
        if thread < active:
            squared_errors[thread] += squared_errors[thread + active]
        cuda.syncthreads()
        active = active // 2
    if thread == 0:
        cuda.atomic.add(loss_sum, 0, scale * squared_errors[0])

    offset = weights.shape[0]
    fan_out = OUTPUTS
    layer = layers
    while layer >= 0:
        current = (layers - layer) % 2
        below = 1 - current
        fan_in = width
        if layer == 0:
            fan_in = FEATURES
        offset -= fan_in * fan_out

        for input_tile in range(0, fan_in, TILE):
            for j in range(SAMPLES_PER_THREAD):
                sample = first_sample + row + j * TILE
                unit = input_tile + column
                activation = float32(0)
                if sample < batch and layer == 0:
                    activation = features[sample, unit]
                elif sample < batch:
                    activation = hidden[layer - 1, sample, unit]
                tiles[below, row + j * TILE, unit] = activation
        cuda.syncthreads()

        own_gradients = cuda.local.array(SAMPLES_PER_THREAD, float32)
        for unit_tile in range(0, fan_out, TILE):
            for j in range(width // TILE):
                own_gradients[j] = float32(0)
            for s in range(TILE_SAMPLES):
                # Each delta that is read serves up to four products.
                delta = tiles[current, s, unit_tile + column]
                for j in range(width // TILE):
                    own_gradients[j] += tiles[below, s, row + j * TILE] * delta
            for j in range(width // TILE):
                weight = offset + (row + j * TILE) * fan_out + unit_tile + column
                cuda.atomic.add(grad_weights, weight, own_gradients[j])

        for input_tile in range(0, fan_in, TILE):
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for unit_tile in range(0, fan_out, TILE):
                weight_tile[row, column] = weights[
                    offset + (input_tile + row) * fan_out + unit_tile + column
                ]
                cuda.syncthreads()
                for k in range(TILE):
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += (
                            weight_tile[column, k] * tiles[current, row + j * TILE, unit_tile + k]
                        )
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                if layer > 0:
                    if tiles[below, local_sample, input_tile + column] > float32(0):
                        tiles[below, local_sample, input_tile + column] = totals[j]
                    else:
                        tiles[below, local_sample, input_tile + column] = float32(0)
                elif sample < batch and column < GRID_CHANNELS:
                    scatter(grad_feature_grid, uv[sample, 0], uv[sample, 1], column, totals[j])

        fan_out = fan_in
        layer -= 1
