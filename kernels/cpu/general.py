"""The training step on the CPU for any network of the family: `step`, with more left open.

What differs: any number of grid channels and octaves, activations to choose, biases. The forward
pass keeps each activation's slope, which the backward pass multiplies by. All the rest is that of
`step`; where `step` has a constant, this has an argument, and so it is a little slower.
"""

from typing import NamedTuple

import numpy as np
from numba import float32

from kernels.config import COLOURS, OUTPUTS, SUB_CELL_FEATURES
from kernels.cpu.compile import compiled
from kernels.cpu.matrix import QUAD, add_outer, multiply
from kernels.cpu.sample import blend_corners, draw_uv, encode, find_corners, scatter
from kernels.cpu.step import BLOCK, Workspace, make_workspace
from kernels.field_math import pixel_centre
from kernels.general.activations import (
    GELU,
    NUMBERS,
    RELU,
    SIGMOID,
    SINE,
    gelu_and_slope,
    relu_and_slope,
    sigmoid_and_slope,
    sine_and_slope,
)


class Network(NamedTuple):
    """What of a `Config` the loops have to know."""

    octaves: int
    activation: int
    output_activation: int
    biases: int  # 0 or 1


def network_of(config):
    """The `Network` of a `Config`."""
    return Network(
        config.octaves,
        NUMBERS[config.activation],
        NUMBERS[config.output_activation],
        int(config.biases),
    )


GeneralWorkspace = NamedTuple(
    "GeneralWorkspace",
    [
        *Workspace.__annotations__.items(),  # type: ignore[misc]  # mypy wants them written out
        # Beside what `step.Workspace` has, for the same partitions; float32:
        ("slopes", np.ndarray),  # (P, layers, width, BLOCK)
        ("output_slopes", np.ndarray),  # (P, 4, BLOCK)
        # With these here, the loops of `step` and `images` serve such a network, too.
        # (A parallel loop takes no tuple within a tuple.)
        *Network.__annotations__.items(),
    ],
)


def make_general_workspace(config, partitions):
    """A `GeneralWorkspace`, as `step.make_workspace` makes one."""
    usual = make_workspace(config, partitions)
    encoded = config.channels + SUB_CELL_FEATURES + 4 * config.octaves
    features = np.zeros((partitions, config.features, BLOCK), np.float32)
    features[:, encoded:] = 1
    cells = config.grid_height, config.grid_width, config.channels
    usual = usual._replace(
        features=features,
        grad_feature_grid=np.zeros((partitions, *cells), np.float32),
        adam_rows=np.zeros((partitions, 3, config.grid_width * config.channels), np.float32),
    )
    return GeneralWorkspace(
        *usual,
        slopes=np.zeros_like(usual.hidden),
        output_slopes=np.zeros_like(usual.outputs),
        **network_of(config)._asdict(),
    )


# ---------------------------------------------------------------- the stages, on one block


@compiled
def layer_of(weights, layer, layers, features, width, biases):
    """(matrix (fan_in, fan_out), biases (fan_out,) or empty) of a layer, as views."""
    fan_in = features if layer == 0 else width
    fan_out = OUTPUTS if layer == layers else width
    begin = 0
    if layer > 0:
        begin = (features + biases) * width + (layer - 1) * (width + biases) * width
    end = begin + fan_in * fan_out
    return weights[begin:end].reshape(fan_in, fan_out), weights[end : end + biases * fan_out]


@compiled
def activate(activation, bias, sums, slopes):
    """sums (units, samples) become values; writes their slopes. bias: (units,) or empty."""
    units, samples = sums.shape
    for unit in range(units):
        shift = bias[unit] if bias.shape[0] > 0 else float32(0)
        # A loop for each, without a question in it, becomes vector instructions.
        if activation == RELU:
            for s in range(samples):
                sums[unit, s], slopes[unit, s] = relu_and_slope(sums[unit, s] + shift)
        elif activation == SINE:
            for s in range(samples):
                sums[unit, s], slopes[unit, s] = sine_and_slope(sums[unit, s] + shift)
        elif activation == GELU:
            for s in range(samples):
                sums[unit, s], slopes[unit, s] = gelu_and_slope(sums[unit, s] + shift)
        elif activation == SIGMOID:
            for s in range(samples):
                sums[unit, s], slopes[unit, s] = sigmoid_and_slope(sums[unit, s] + shift)
        else:
            for s in range(samples):
                sums[unit, s], slopes[unit, s] = sums[unit, s] + shift, float32(1)


@compiled
def forward(features, weights, network, hidden, slopes, outputs, output_slopes):
    """From features (F, samples) to outputs (4, samples); keeps activations and all slopes.

    weights: (n,). network: `Network`, or what has its fields. Writes hidden and slopes
    (layers, width, samples), outputs and output_slopes (4, samples). All float32, of one block.
    """
    layers, width, _ = hidden.shape
    source = features
    for layer in range(layers):
        matrix, bias = layer_of(weights, layer, layers, features.shape[0], width, network.biases)
        multiply(matrix, source, hidden[layer])
        activate(network.activation, bias, hidden[layer], slopes[layer])
        source = hidden[layer]
    matrix, bias = layer_of(weights, layers, layers, features.shape[0], width, network.biases)
    multiply(matrix, source, outputs)
    activate(network.output_activation, bias, outputs, output_slopes)


@compiled
def output_delta(outputs, output_slopes, target, samples, scale, delta):
    """As `step.output_delta`, with the slopes of the chosen activation."""
    delta[:QUAD] = float32(0)
    total = 0.0
    for colour in range(COLOURS):
        squared_error = float32(0)
        for s in range(samples):
            error = outputs[colour, s] - target[colour, s]
            squared_error += error * error
            delta[colour, s] = float32(2) * scale * error * output_slopes[colour, s]
        total += squared_error
    return total


@compiled
def add_bias_gradients(delta, gradient):
    """gradient (units,), or empty: add the sum of each row of delta (at most as many, samples)."""
    for unit in range(min(delta.shape[0], gradient.shape[0])):
        total = float32(0)
        for s in range(delta.shape[1]):
            total += delta[unit, s]
        gradient[unit] += total


@compiled
def backward(features, weights, network, hidden, slopes, channels, deltas, grad_weights):
    """From deltas[0] (outputs) down; returns which of `deltas` holds the grid's gradient.

    features, weights, network, hidden, slopes: as `forward` left them. channels: of the grid.
    deltas: (2, rows, samples), which take turns. Adds to grad_weights (n,). All float32.
    """
    layers, width, samples = hidden.shape
    biases, inputs = network.biases, features.shape[0]
    current, units = 0, QUAD
    for layer in range(layers, 0, -1):
        delta, below = deltas[current, :units], deltas[1 - current, :width]
        grad, grad_bias = layer_of(grad_weights, layer, layers, inputs, width, biases)
        matrix, _ = layer_of(weights, layer, layers, inputs, width, biases)
        add_outer(hidden[layer - 1], delta, grad)
        add_bias_gradients(delta, grad_bias)
        multiply(matrix.T, delta, below)
        for unit in range(width):
            for s in range(samples):
                below[unit, s] *= slopes[layer - 1, unit, s]
        current, units = 1 - current, width
    delta = deltas[current, :width]
    grad, grad_bias = layer_of(grad_weights, 0, layers, inputs, width, biases)
    add_outer(features, delta, grad)
    add_bias_gradients(delta, grad_bias)
    matrix, _ = layer_of(weights, 0, layers, inputs, width, biases)
    rows = (channels + QUAD - 1) // QUAD * QUAD
    multiply(matrix.T, delta, deltas[1 - current, :rows])
    return 1 - current


# ---------------------------------------------------------------- a whole step


def gradient_of_partition(partition, batch, image, seed, step, state, workspace):
    """As `step.gradient_of_partition`. workspace: `GeneralWorkspace`."""
    channels = state.feature_grid.shape[2]
    partitions = workspace.uv.shape[0]
    begin = batch * partition // partitions
    end = batch * (partition + 1) // partitions
    scale = float32(1) / (float32(batch) * float32(COLOURS))
    uv, target = workspace.uv[partition], workspace.target[partition]
    outputs, output_slopes = workspace.outputs[partition], workspace.output_slopes[partition]
    corners, blend_weights = workspace.corners[partition], workspace.blend_weights[partition]
    features, hidden = workspace.features[partition], workspace.hidden[partition]
    deltas, grad_weights = workspace.deltas[partition], workspace.grad_weights[partition]
    slopes = workspace.slopes[partition]

    squared_error = 0.0
    for first_sample in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_sample)
        draw_uv(seed, step, first_sample, uv)
        find_corners(uv, image, corners, blend_weights)
        blend_corners(image, corners, blend_weights, target)
        encode(
            uv, state.feature_grid, corners, blend_weights, features, channels, workspace.octaves
        )
        forward(features, state.weights, workspace, hidden, slopes, outputs, output_slopes)
        squared_error += output_delta(outputs, output_slopes, target, samples, scale, deltas[0])
        last = backward(
            features, state.weights, workspace, hidden, slopes, channels, deltas, grad_weights
        )
        scatter(
            corners, blend_weights, deltas[last], samples, workspace.grad_feature_grid[partition],
            channels,
        )  # fmt: skip
    workspace.losses[partition] = squared_error * scale


# ---------------------------------------------------------------- painting


def render_pixels(begin, end, feature_grid, weights, workspace, partition, image):
    """As `images.render_pixels`. workspace: `GeneralWorkspace`."""
    height, width, _ = image.shape
    uv, features = workspace.uv[partition], workspace.features[partition]
    corners, blend_weights = workspace.corners[partition], workspace.blend_weights[partition]
    outputs = workspace.outputs[partition]
    for first_pixel in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_pixel)
        for s in range(samples):
            uv[0, s], uv[1, s] = pixel_centre(first_pixel + s, width, height)
        encode(
            uv, feature_grid, corners, blend_weights, features, feature_grid.shape[2],
            workspace.octaves,
        )  # fmt: skip
        forward(
            features, weights, workspace, workspace.hidden[partition], workspace.slopes[partition],
            outputs, workspace.output_slopes[partition],
        )  # fmt: skip
        for s in range(samples):
            row, column = (first_pixel + s) // width, (first_pixel + s) % width
            for colour in range(COLOURS):
                image[row, column, colour] = outputs[colour, s]
