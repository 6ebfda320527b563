"""The whole training step for a machine without a GPU, four times as fast as PyTorch there.

The stages and the mathematics are those of the CUDA kernels; only the shape of the work differs.
A GPU has tens of thousands of threads and gives each one sample. A CPU has a few cores, each with
vector instructions that do one thing to 16 numbers at once. So:

* the batch is divided into one partition per core, each done in blocks of 512 samples that
  stay in the core's own cache from the random numbers to the gradients;
* inside a block, arrays are "structures of arrays", (channels, samples): the innermost loop of
  every stage runs over samples that lie side by side in memory, and the compiler turns it into
  vector instructions;
* each partition clears gradients of its own, and adds to them; then each thread takes a range of
  all weights and of the grid's rows, and sums what all partitions have there, in a fixed order. No
  atomics, and the same bits every run, however many threads happen to do the work.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, int64, prange

from kernels.config import COLOURS, ENCODED, FEATURES, GRID_CHANNELS, OUTPUTS
from kernels.cpu.adam import adam_grid_rows, adam_weights
from kernels.cpu.compile import compiled, compiled_apart, compiled_parallel
from kernels.cpu.matrix import QUAD, add_outer, multiply
from kernels.cpu.sample import blend_corners, draw_uv, encode, find_corners, scatter
from kernels.field_math import relu, sigmoid

# Samples per block: long enough to hide the cost of starting a loop, short enough that two layers'
# activations and gradients (4 x 64 KB at width 32) stay in a core's second-level cache.
BLOCK = 512
CACHE_LINE = 64  # bytes


class Workspace(NamedTuple):
    """Scratch memory, one slice for each of the P partitions; float32 unless said."""

    uv: np.ndarray  # (P, 2, BLOCK)
    corners: np.ndarray  # (P, 4, BLOCK) uint32: see `find_corners`
    blend_weights: np.ndarray  # (P, 4, BLOCK)
    target: np.ndarray  # (P, 3, BLOCK)
    features: np.ndarray  # (P, 16, BLOCK)
    hidden: np.ndarray  # (P, layers, width, BLOCK)
    outputs: np.ndarray  # (P, 4, BLOCK)
    deltas: np.ndarray  # (P, 2, 64, BLOCK): this layer's and the one below
    grad_weights: np.ndarray  # (P, n)
    grad_feature_grid: np.ndarray  # (P, gh, gw, 3)
    adam_rows: np.ndarray  # (P, 3, gw * 3): see `adam_grid_rows`
    losses: np.ndarray  # (P,) float64


def make_workspace(config, partitions):
    def zeros(*shape):
        return aligned_zeros((partitions, *shape))

    features = zeros(FEATURES, BLOCK)
    features[:, ENCODED:] = 1  # the padding; `encode` writes only what changes

    return Workspace(
        uv=zeros(2, BLOCK),
        corners=zeros(4, BLOCK).view(np.uint32),
        blend_weights=zeros(4, BLOCK),
        target=zeros(COLOURS, BLOCK),
        features=features,
        hidden=zeros(config.layers, config.hidden, BLOCK),
        outputs=zeros(QUAD, BLOCK),
        deltas=zeros(2, config.hidden, BLOCK),
        grad_weights=zeros(config.weight_count),
        grad_feature_grid=zeros(config.grid_height, config.grid_width, GRID_CHANNELS),
        adam_rows=zeros(3, config.grid_width * GRID_CHANNELS),
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


# ---------------------------------------------------------------- the stages, on one block


@compiled
def layer_matrix(weights, layer, layers, width):
    """View of one layer's (fan_in, fan_out) matrix in the flat weight (or gradient) vector."""
    fan_in = FEATURES if layer == 0 else width
    fan_out = OUTPUTS if layer == layers else width
    begin = 0 if layer == 0 else FEATURES * width + (layer - 1) * width * width
    return weights[begin : begin + fan_in * fan_out].reshape(fan_in, fan_out)


@compiled
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


@compiled
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


@compiled
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


# ---------------------------------------------------------------- a whole step


def gradient_of_partition(partition, batch, image, seed, step, state, workspace):
    """All stages but Adam, for one partition of the batch, block after block.

    partition, batch, step: int64. seed: uint64. image: (H, W, 3) float32.
    """
    partitions = workspace.uv.shape[0]
    begin = batch * partition // partitions
    end = batch * (partition + 1) // partitions
    scale = float32(1) / (float32(batch) * float32(COLOURS))
    uv = workspace.uv[partition]
    target = workspace.target[partition]
    corners, blend_weights = workspace.corners[partition], workspace.blend_weights[partition]
    features = workspace.features[partition]
    hidden = workspace.hidden[partition]
    outputs = workspace.outputs[partition]
    deltas = workspace.deltas[partition]

    squared_error = 0.0
    for first_sample in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_sample)
        draw_uv(seed, step, first_sample, uv)
        find_corners(uv, image, corners, blend_weights)
        blend_corners(image, corners, blend_weights, target)
        encode(uv, state.feature_grid, corners, blend_weights, features)
        mlp_forward(features, state.weights, hidden, outputs)
        squared_error += output_delta(outputs, target, samples, scale, deltas[0])
        last = mlp_backward(
            features, state.weights, hidden, deltas, workspace.grad_weights[partition]
        )
        scatter(
            corners, blend_weights, deltas[last], samples, workspace.grad_feature_grid[partition]
        )
    workspace.losses[partition] = squared_error * scale


def gradient_body(
    image, seed, batch, state, workspace, make=compiled_apart, body=gradient_of_partition
):
    """`body` for arguments of these types, as `make` makes it callable from compiled code."""
    return make(body, 0, batch, image, seed, 1, state, workspace)


@compiled
def clear(array):
    flat = array.reshape(array.size)
    for i in range(array.size):
        flat[i] = float32(0)


@compiled_parallel
def train_steps(
    gradient, image, seed, first_step, batch, state, workspace, corrections, learning_rates, rates
):
    """Train one step for each row of `learning_rates` (n, 2): the MLP's rate and the grid's.

    gradient: what `gradient_body` returns. image: (H, W, 3) float32. seed: uint64. first_step:
    int64, from 1. state: `State`, changed in place. corrections: see `adam.bias_corrections`.
    rates: `AdamRates`.
    Returns the loss of each step, (n,) float64.
    """
    partitions = workspace.uv.shape[0]
    rows, weights = state.grid_steps.shape[0], state.weights.shape[0]
    losses = np.zeros(learning_rates.shape[0])
    for i in range(learning_rates.shape[0]):
        step = first_step + i
        for partition in prange(partitions):
            clear(workspace.grad_weights[partition])
            clear(workspace.grad_feature_grid[partition])
            gradient(int64(partition), batch, image, seed, step, state, workspace)
        for partition in prange(partitions):
            # The index of a parallel loop is unsigned, and would be another type to compile for.
            part = int64(partition)
            adam_grid_rows(
                rows * part // partitions,
                rows * (part + 1) // partitions,
                state,
                workspace.grad_feature_grid,
                workspace.adam_rows[part],
                corrections,
                learning_rates[i, 1],
                rates,
            )
            adam_weights(
                weights * part // partitions,
                weights * (part + 1) // partitions,
                step,
                state,
                workspace.grad_weights,
                corrections,
                learning_rates[i, 0],
                rates,
            )
        for partition in range(partitions):
            losses[i] += workspace.losses[partition]
    return losses
