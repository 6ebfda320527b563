"""Stage 4, the backward pass: from the error back to every weight and every grid cell.

    uv, features, hidden, outputs, target, weights
        ->  grad_weights (n,), grad_feature_grid (gh, gw, 3), loss_sum (1,)      all added to

The idea: the loss is the mean squared error over batch and channels. Write `delta` for the
gradient with respect to a layer's sums, before its activation function. Then, last layer first,

    delta_output  = 2 / (3 B) * (output - target) * output * (1 - output)     sigmoid's derivative
    grad_weights  = inputs^T @ delta                                          sum over samples
    grad_inputs   = delta @ weights^T
    delta_below   = grad_inputs where the input was > 0, else 0               ReLU's derivative

and what reaches the three grid channels goes to the four corners that the encoding blended, with
the same four weights. A block takes 64 samples back through all layers; `delta` stays in shared
memory. Many blocks add to the same gradients, so those additions are atomic.

The caller provides gradients that are zero: Adam clears each one after using it.
Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors", 1986.
"""

from numba import cuda, float32
from numba.extending import register_jitable

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
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    """Add one batch's gradients and loss; 16 x 16 threads and 64 samples per block.

    uv (B, 2), features (B, 16), hidden (layers, B, width), outputs (B, 16), target (B, 3),
    weights (n,): float32, as the earlier stages left them.
    Adds to grad_weights (n,), grad_feature_grid (gh, gw, 3) and loss_sum (1,): float32.
    """
    # tiles[current] holds this layer's delta, tiles[1 - current] the activations it was fed with.
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

    # Output delta. Samples past the batch and the padding outputs get zero: they add nothing.
    squared_error = float32(0)
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        delta = float32(0)
        if sample < batch and column < COLOURS:
            output = outputs[sample, column]
            error = output - target[sample, column]
            squared_error += error * error
            delta = float32(2) * scale * error * output * (float32(1) - output)
        tiles[0, local_sample, column] = delta

    # One atomic per block, not one per thread: halve the number of partial sums until one is left.
    squared_errors[thread] = squared_error
    active = BLOCK_THREADS // 2
    while active > 0:
        # Nobody may read a partial sum before its owner has written it.
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
        # Both tiles must be complete before the products read across all samples.
        cuda.syncthreads()

        # Weight gradient: thread (column, row) owns the weight from input `row` to unit `column`.
        for input_tile in range(0, fan_in, TILE):
            for unit_tile in range(0, fan_out, TILE):
                total = float32(0)
                for s in range(TILE_SAMPLES):
                    activation = tiles[below, s, input_tile + row]
                    delta = tiles[current, s, unit_tile + column]
                    total += activation * delta
                weight = offset + (input_tile + row) * fan_out + unit_tile + column
                cuda.atomic.add(grad_weights, weight, total)
        # Input gradient: thread (column, row) owns input `column` of its four samples. It
        # replaces activations by deltas in place. No barrier is needed before this loop: once a
        # thread has passed those of its first weight tile, all threads have finished reading above.
        for input_tile in range(0, fan_in, TILE):
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)
            for unit_tile in range(0, fan_out, TILE):
                weight_tile[row, column] = weights[
                    offset + (input_tile + row) * fan_out + unit_tile + column
                ]
                # The weight tile must be complete before anyone reads it ...
                cuda.syncthreads()
                for k in range(TILE):
                    weight = weight_tile[column, k]
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += weight * tiles[current, row + j * TILE, unit_tile + k]
                # ... and no longer in use when the next one replaces it.
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


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    """Add one channel's gradient to the four grid cells that the encoding blended at (u, v).

    Other samples add to the same cells at the same time, hence the atomics.
    """
    left, right, x_fraction = neighbours(u, grad_feature_grid.shape[1])
    top, bottom, y_fraction = neighbours(v, grad_feature_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    cuda.atomic.add(grad_feature_grid, (top, left, channel), w0 * gradient)
    cuda.atomic.add(grad_feature_grid, (top, right, channel), w1 * gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, left, channel), w2 * gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, right, channel), w3 * gradient)


def launch_backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    launch=on_gpu,
):  # fmt: skip
    blocks = blocks_for(uv.shape[0], TILE_SAMPLES)
    launch(
        backward, blocks, (TILE, TILE),
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    )  # fmt: skip
