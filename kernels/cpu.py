"""The whole training step for a machine without a GPU, about three times as fast as PyTorch there.

The stages and the mathematics are those of the CUDA kernels; only the shape of the work differs.
A GPU has tens of thousands of threads and gives each one sample. A CPU has a few cores, each with
vector instructions that do one thing to 16 numbers at once. So:

* the batch is divided into one partition a core, each worked off in blocks of 512 samples that
  stay in the core's own cache from the random numbers to the gradients;
* inside a block, arrays are "structures of arrays", (channels, samples): the innermost loop of
  every stage runs over samples that lie side by side in memory, and the compiler turns it into
  vector instructions;
* each partition adds to gradients of its own, which Adam sums in a fixed order. No atomics, and the
  same bits every run, however many threads happen to do the work.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, njit, prange, uint64

from kernels.compile_cache import use_fresh_cache
from kernels.config import COLOURS, FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, MAX_HIDDEN, OUTPUTS
from kernels.field_math import (
    adam_step,
    area_average,
    bilinear,
    corner_weights,
    neighbours,
    pixel_centre,
    random_uv,
    relu,
    sigmoid,
    sine_of_turns,
)

use_fresh_cache()

# Samples a block: long enough to hide the cost of starting a loop, short enough that two layers'
# activations and gradients (4 x 64 KB at width 32) stay in a core's second-level cache.
BLOCK = 512
# The matrix loops below work on 4 x 4 weights at a time, so the three colours are computed as four
# outputs, and the gradient of the three grid channels as that of four features.
QUAD = 4
CACHE_LINE = 64  # bytes
# Lets the compiler keep 16 partial sums, one a vector lane, where the source says one. NaN and
# infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}


class Workspace(NamedTuple):
    """Scratch memory, one slice for each of the P partitions; all float32 but `losses`."""

    uv: np.ndarray  # (P, 2, BLOCK)
    target: np.ndarray  # (P, 3, BLOCK)
    features: np.ndarray  # (P, 16, BLOCK)
    hidden: np.ndarray  # (P, layers, width, BLOCK)
    outputs: np.ndarray  # (P, 4, BLOCK)
    deltas: np.ndarray  # (P, 2, 64, BLOCK): this layer's and the one below
    grad_weights: np.ndarray  # (P, n)
    grad_feature_grid: np.ndarray  # (P, gh, gw, 3)
    losses: np.ndarray  # (P,) float64


def make_workspace(config, partitions):
    def zeros(*shape):
        return aligned_zeros((partitions, *shape))

    return Workspace(
        uv=zeros(2, BLOCK),
        target=zeros(COLOURS, BLOCK),
        features=zeros(FEATURES, BLOCK),
        hidden=zeros(config.layers, config.hidden, BLOCK),
        outputs=zeros(QUAD, BLOCK),
        deltas=zeros(2, MAX_HIDDEN, BLOCK),
        grad_weights=zeros(config.weight_count),
        grad_feature_grid=zeros(config.grid_height, config.grid_width, GRID_CHANNELS),
        losses=np.zeros(partitions),
    )


def aligned_zeros(shape):
    """float32 zeros that begin on a cache line, as NumPy's own need not.

    A vector of 16 numbers is 64 bytes, just a cache line: begun anywhere else, every vector load
    would have to read two lines.
    """
    size = 4 * int(np.prod(shape))
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    return memory[begin : begin + size].view(np.float32).reshape(shape)


# ---------------------------------------------------------------- matrix products


@njit(error_model="numpy", fastmath=REORDER)
def multiply(matrix, source, destination):
    """destination = matrix^T @ source, for (inputs, units), (inputs, samples), (units, samples).

    Four inputs and four units at a time: each activation that is loaded meets four weights, and
    each sum that is loaded and stored gains four products. Sizes are multiples of four.
    """
    destination[:] = float32(0)
    for unit in range(0, destination.shape[0], QUAD):
        for i in range(0, source.shape[0], QUAD):
            w00, w01, w02, w03 = row_of_four(matrix, i, unit)
            w10, w11, w12, w13 = row_of_four(matrix, i + 1, unit)
            w20, w21, w22, w23 = row_of_four(matrix, i + 2, unit)
            w30, w31, w32, w33 = row_of_four(matrix, i + 3, unit)
            for s in range(source.shape[1]):
                x0, x1, x2, x3 = source[i, s], source[i + 1, s], source[i + 2, s], source[i + 3, s]
                destination[unit, s] += w00 * x0 + w10 * x1 + w20 * x2 + w30 * x3
                destination[unit + 1, s] += w01 * x0 + w11 * x1 + w21 * x2 + w31 * x3
                destination[unit + 2, s] += w02 * x0 + w12 * x1 + w22 * x2 + w32 * x3
                destination[unit + 3, s] += w03 * x0 + w13 * x1 + w23 * x2 + w33 * x3


@njit(error_model="numpy")
def row_of_four(matrix, row, column):
    return (
        matrix[row, column],
        matrix[row, column + 1],
        matrix[row, column + 2],
        matrix[row, column + 3],
    )


@njit(error_model="numpy", fastmath=REORDER)
def add_outer(source, delta, grad):
    """grad += source @ delta^T, for (inputs, samples), (units, samples), (inputs, units).

    Sixteen sums run side by side, so that eight loads feed sixteen multiply-adds.
    """
    for i in range(0, source.shape[0], QUAD):
        for unit in range(0, delta.shape[0], QUAD):
            g00 = g01 = g02 = g03 = float32(0)
            g10 = g11 = g12 = g13 = float32(0)
            g20 = g21 = g22 = g23 = float32(0)
            g30 = g31 = g32 = g33 = float32(0)
            for s in range(source.shape[1]):
                x0, x1, x2, x3 = source[i, s], source[i + 1, s], source[i + 2, s], source[i + 3, s]
                d0, d1 = delta[unit, s], delta[unit + 1, s]
                d2, d3 = delta[unit + 2, s], delta[unit + 3, s]
                g00, g01, g02, g03 = g00 + x0 * d0, g01 + x0 * d1, g02 + x0 * d2, g03 + x0 * d3
                g10, g11, g12, g13 = g10 + x1 * d0, g11 + x1 * d1, g12 + x1 * d2, g13 + x1 * d3
                g20, g21, g22, g23 = g20 + x2 * d0, g21 + x2 * d1, g22 + x2 * d2, g23 + x2 * d3
                g30, g31, g32, g33 = g30 + x3 * d0, g31 + x3 * d1, g32 + x3 * d2, g33 + x3 * d3
            add_row_of_four(grad, i, unit, g00, g01, g02, g03)
            add_row_of_four(grad, i + 1, unit, g10, g11, g12, g13)
            add_row_of_four(grad, i + 2, unit, g20, g21, g22, g23)
            add_row_of_four(grad, i + 3, unit, g30, g31, g32, g33)


@njit(error_model="numpy")
def add_row_of_four(matrix, row, column, a, b, c, d):
    matrix[row, column] += a
    matrix[row, column + 1] += b
    matrix[row, column + 2] += c
    matrix[row, column + 3] += d


@njit(error_model="numpy")
def layer_matrix(weights, layer, layers, width):
    """View of one layer's (fan_in, fan_out) matrix in the flat weight (or gradient) vector."""
    fan_in = FEATURES if layer == 0 else width
    fan_out = OUTPUTS if layer == layers else width
    begin = 0 if layer == 0 else FEATURES * width + (layer - 1) * width * width
    return weights[begin : begin + fan_in * fan_out].reshape(fan_in, fan_out)


# ---------------------------------------------------------------- the stages, on one block


@njit(error_model="numpy")
def draw_uv(seed, step, first_sample, uv):
    for s in range(uv.shape[1]):
        uv[0, s], uv[1, s] = random_uv(uint64(first_sample + s), uint64(step), uint64(seed))


@njit(error_model="numpy")
def look_up(texture, uv, colours):
    for s in range(uv.shape[1]):
        colours[0, s], colours[1, s], colours[2, s] = bilinear(texture, uv[0, s], uv[1, s])


@njit(error_model="numpy")
def encode(uv, feature_grid, features):
    look_up(feature_grid, uv, features)
    for axis in range(2):
        cells = float32(feature_grid.shape[1 - axis])
        for s in range(uv.shape[1]):
            features[3 + axis, s] = sine_of_turns(uv[axis, s] * cells - float32(0.5))
    channel = 5
    for axis in range(2):
        for octave in range(FOURIER_OCTAVES):
            waves = float32(1 << octave)
            for s in range(uv.shape[1]):
                features[channel, s] = sine_of_turns(waves * uv[axis, s])
                features[channel + 1, s] = sine_of_turns(waves * uv[axis, s] + float32(0.25))
            channel += 2


@njit(error_model="numpy")
def mlp_forward(features, weights, hidden, outputs):
    layers, width, samples = hidden.shape
    source = features
    for layer in range(layers):
        multiply(layer_matrix(weights, layer, layers, width), source, hidden[layer])
        for unit in range(width):
            for s in range(samples):
                hidden[layer, unit, s] = relu(hidden[layer, unit, s])
        source = hidden[layer]
    multiply(layer_matrix(weights, layers, layers, width), source, outputs)
    for colour in range(COLOURS):
        for s in range(samples):
            outputs[colour, s] = sigmoid(outputs[colour, s])


@njit(error_model="numpy")
def output_delta(outputs, target, samples, scale, delta):
    """Write the gradient of the output sums and return the sum of squared errors.

    Only the first `samples` of the block count; the others get a zero and so change nothing.
    """
    delta[:QUAD] = float32(0)
    total = 0.0
    for colour in range(COLOURS):
        squared_error = float32(0)
        for s in range(samples):
            output = outputs[colour, s]
            error = output - target[colour, s]
            squared_error += error * error
            delta[colour, s] = float32(2) * scale * error * output * (float32(1) - output)
        total += squared_error
    return total


@njit(error_model="numpy")
def mlp_backward(features, weights, hidden, deltas, grad_weights):
    """From deltas[0] (outputs) down; returns which of `deltas` holds the features' gradient."""
    layers, width, samples = hidden.shape
    current = 0
    units = QUAD
    for layer in range(layers, 0, -1):
        delta = deltas[current, :units]
        below = deltas[1 - current, :width]
        source = hidden[layer - 1]
        add_outer(source, delta, layer_matrix(grad_weights, layer, layers, width))
        multiply(layer_matrix(weights, layer, layers, width).T, delta, below)
        for unit in range(width):
            for s in range(samples):
                passed = source[unit, s] > float32(0)
                below[unit, s] = below[unit, s] if passed else float32(0)
        current = 1 - current
        units = width
    delta = deltas[current, :width]
    add_outer(features, delta, layer_matrix(grad_weights, 0, layers, width))
    multiply(layer_matrix(weights, 0, layers, width).T, delta, deltas[1 - current, :QUAD])
    return 1 - current


@njit(error_model="numpy")
def scatter(uv, delta, samples, grad_feature_grid):
    for s in range(samples):
        left, right, x_fraction = neighbours(uv[0, s], grad_feature_grid.shape[1])
        top, bottom, y_fraction = neighbours(uv[1, s], grad_feature_grid.shape[0])
        w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
        for channel in range(GRID_CHANNELS):
            gradient = delta[channel, s]
            grad_feature_grid[top, left, channel] += w0 * gradient
            grad_feature_grid[top, right, channel] += w1 * gradient
            grad_feature_grid[bottom, left, channel] += w2 * gradient
            grad_feature_grid[bottom, right, channel] += w3 * gradient


@njit(error_model="numpy")
def adam_grid_rows(begin, end, state, grads, corrections, learning_rate, rates):
    """Update the touched cells in rows begin ... end; `grads` (P, gh, gw, 3) is summed and cleared.

    Three passes over each row: the first and the last run over all its numbers alike and become
    vector instructions, the one between does what differs from cell to cell.
    """
    width = state.grid_steps.shape[1]
    numbers = width * GRID_CHANNELS
    correction_m = np.empty(numbers, np.float32)
    correction_v = np.empty(numbers, np.float32)
    for row in range(begin, end):
        gradient = grads[0, row].reshape(numbers)
        for partition in range(1, grads.shape[0]):
            share = grads[partition, row].reshape(numbers)
            for i in range(numbers):
                gradient[i] += share[i]
                share[i] = float32(0)

        for column in range(width):
            first = column * GRID_CHANNELS
            touched = False
            for i in range(first, first + GRID_CHANNELS):
                touched |= gradient[i] != float32(0)
            state.grid_steps[row, column] += touched
            entry = min(state.grid_steps[row, column], corrections.shape[0] - 1)
            for i in range(first, first + GRID_CHANNELS):
                # A correction is never below one, so zero can mark the cells to leave alone.
                correction_m[i] = corrections[entry, 0] if touched else float32(0)
                correction_v[i] = corrections[entry, 1]

        parameter = state.feature_grid[row].reshape(numbers)
        m = state.grid_m[row].reshape(numbers)
        v = state.grid_v[row].reshape(numbers)
        for i in range(numbers):
            new_parameter, new_m, new_v = adam_step(
                parameter[i],
                gradient[i],
                m[i],
                v[i],
                correction_m[i],
                correction_v[i],
                learning_rate,
                rates,
            )
            touched = correction_m[i] != float32(0)
            parameter[i] = new_parameter if touched else parameter[i]
            m[i] = new_m if touched else m[i]
            v[i] = new_v if touched else v[i]
            gradient[i] = float32(0)


@njit(error_model="numpy")
def adam_weights(step, state, grads, corrections, learning_rate, rates):
    """Update all weights; `grads` (P, n) is summed and cleared."""
    entry = min(step, corrections.shape[0] - 1)
    for i in range(state.weights.shape[0]):
        gradient = float32(0)
        for partition in range(grads.shape[0]):
            gradient += grads[partition, i]
            grads[partition, i] = float32(0)
        state.weights[i], state.weights_m[i], state.weights_v[i] = adam_step(
            state.weights[i],
            gradient,
            state.weights_m[i],
            state.weights_v[i],
            corrections[entry, 0],
            corrections[entry, 1],
            learning_rate,
            rates,
        )


# ---------------------------------------------------------------- a step, and a picture


@njit(error_model="numpy")
def gradient_of_partition(partition, batch, image, seed, step, state, workspace):
    """All stages but Adam, for one partition's share of the batch, block after block."""
    partitions = workspace.uv.shape[0]
    begin = batch * partition // partitions
    end = batch * (partition + 1) // partitions
    scale = float32(1) / (float32(batch) * float32(COLOURS))
    uv = workspace.uv[partition]
    target = workspace.target[partition]
    features = workspace.features[partition]
    hidden = workspace.hidden[partition]
    outputs = workspace.outputs[partition]
    deltas = workspace.deltas[partition]

    squared_error = 0.0
    for first_sample in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_sample)
        draw_uv(seed, step, first_sample, uv)
        look_up(image, uv, target)
        encode(uv, state.feature_grid, features)
        mlp_forward(features, state.weights, hidden, outputs)
        squared_error += output_delta(outputs, target, samples, scale, deltas[0])
        last = mlp_backward(
            features, state.weights, hidden, deltas, workspace.grad_weights[partition]
        )
        scatter(uv, deltas[last], samples, workspace.grad_feature_grid[partition])
    workspace.losses[partition] = squared_error * scale


@njit(parallel=True, cache=True)
def train_steps(
    image, seed, first_step, batch, state, workspace, corrections, learning_rates, rates
):
    """Train one step for each row of `learning_rates` (n, 2): the MLP's rate and the grid's.

    image: (H, W, 3) float32. seed: uint64. first_step: int64, from 1. state: `State`, changed in
    place. corrections: see `adam.bias_corrections`. rates: `AdamRates`.
    Returns the loss of each step, (n,) float64.
    """
    partitions = workspace.uv.shape[0]
    rows = state.grid_steps.shape[0]
    losses = np.zeros(learning_rates.shape[0])
    for i in range(learning_rates.shape[0]):
        step = first_step + i
        for partition in prange(partitions):
            gradient_of_partition(partition, batch, image, seed, step, state, workspace)
        for partition in prange(partitions):
            adam_grid_rows(
                rows * partition // partitions,
                rows * (partition + 1) // partitions,
                state,
                workspace.grad_feature_grid,
                corrections,
                learning_rates[i, 1],
                rates,
            )
        adam_weights(
            step, state, workspace.grad_weights, corrections, learning_rates[i, 0], rates
        )
        for partition in range(partitions):
            losses[i] += workspace.losses[partition]
    return losses



@njit(parallel=True, cache=True)
def render(feature_grid, weights, workspace, image):
    """Fill image (H, W, 3) float32 with what the network paints, at every pixel centre."""
    partitions = workspace.uv.shape[0]
    pixels = image.shape[0] * image.shape[1]
    for partition in prange(partitions):
        begin = pixels * partition // partitions
        end = pixels * (partition + 1) // partitions
        render_pixels(begin, end, feature_grid, weights, workspace, partition, image)


@njit(error_model="numpy")
def render_pixels(begin, end, feature_grid, weights, workspace, partition, image):
    height, width, _ = image.shape
    uv = workspace.uv[partition]
    outputs = workspace.outputs[partition]
    for first_pixel in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_pixel)
        for s in range(samples):
            uv[0, s], uv[1, s] = pixel_centre(first_pixel + s, width, height)
        encode(uv, feature_grid, workspace.features[partition])
        mlp_forward(
            workspace.features[partition], weights, workspace.hidden[partition], outputs
        )
        for s in range(samples):
            row, column = (first_pixel + s) // width, (first_pixel + s) % width
            for colour in range(COLOURS):
                image[row, column, colour] = outputs[colour, s]


@njit(cache=True)
def downsample(image, small):
    """The same as `image_ops.downsample`, as a loop over the pixels of `small`."""
    height, width, _ = small.shape
    for y in range(height):
        for x in range(width):
            for channel in range(COLOURS):
                small[y, x, channel] = area_average(image, x, y, width, height, channel)


@njit(cache=True)
def upsample(small, large):
    """The same as `image_ops.upsample`, as a loop over the pixels of `large`."""
    height, width, _ = large.shape
    for pixel in range(height * width):
        u, v = pixel_centre(pixel, width, height)
        row, column = pixel // width, pixel % width
        large[row, column, 0], large[row, column, 1], large[row, column, 2] = bilinear(small, u, v)
