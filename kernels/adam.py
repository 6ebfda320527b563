"""Stage 5, Adam: move every parameter a small step against its gradient.

    parameters, gradients, m, v, steps  ->  parameters, m, v, steps; gradients cleared

The idea: Adam divides a running mean of the gradient by the root of a running mean of its square,
so every parameter moves at about the learning rate, whatever the scale of its gradient.

Every sample uses all weights, so they all move in every step. A cell of the feature grid is touched
only when a random sample falls next to it. Plain Adam would move untouched cells on by their old
momentum and shrink their averages. Here each cell has its own step count, and a cell whose
gradients are all zero is left exactly as it is.

Sources: Kingma and Ba, ICLR 2015; per-entry steps as in Mueller et al., "Instant Neural Graphics
Primitives", SIGGRAPH 2022.
"""

import numpy as np
from numba import cuda, float32

from kernels.config import GRID_CHANNELS, THREADS
from kernels.field_math import adam_step
from kernels.launch import blocks_for, on_gpu


def bias_corrections(beta1, beta2):
    """Table of Adam's bias corrections: row t is 1 / (1 - beta1^t), 1 / (1 - beta2^t).

    Returns (rows, 2) float32. Row 0 is never used (steps count from 1). The table ends where both
    corrections have become 1 in float32; later steps use its last row. It is computed in float64,
    because 1 - beta^t in float32 loses most of its digits while t is small.
    """
    slowest = max(beta1, beta2)
    rows = 2 if slowest == 0 else 2 + int(np.ceil(np.log(2.0**-25) / np.log(slowest)))
    step = np.arange(1, rows, dtype=np.float64)
    table = np.ones((rows, 2), np.float32)
    table[1:, 0] = 1 / (1 - beta1**step)
    table[1:, 1] = 1 / (1 - beta2**step)
    return table


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    """Update the network's weights; one thread per weight.

    weights, grad_weights, m, v: (n,) float32. step: int32, from 1. corrections: see
    `bias_corrections`. learning_rate: float32. rates: `AdamRates`.
    """
    i = cuda.grid(1)
    if i >= weights.shape[0]:
        return

    row = min(step, corrections.shape[0] - 1)
    weights[i], m[i], v[i] = adam_step(
        weights[i],
        grad_weights[i],
        m[i],
        v[i],
        corrections[row, 0],
        corrections[row, 1],
        learning_rate,
        rates,
    )
    # The next backward pass adds to this, so it must find zero.
    grad_weights[i] = float32(0)


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    """Update the touched cells of the feature grid; one thread per cell.

    feature_grid, grad_feature_grid, m, v: (gh, gw, 3) float32. steps: (gh, gw) int32, how often
    each cell has been updated. The rest as in `adam_weights`.
    """
    cell = cuda.grid(1)
    height, width = steps.shape
    if cell >= height * width:
        return

    row = cell // width
    column = cell % width
    touched = False
    for channel in range(GRID_CHANNELS):
        touched |= grad_feature_grid[row, column, channel] != float32(0)
    if not touched:
        return

    step = steps[row, column] + 1
    steps[row, column] = step
    entry = min(step, corrections.shape[0] - 1)
    for channel in range(GRID_CHANNELS):
        index = row, column, channel
        feature_grid[index], m[index], v[index] = adam_step(
            feature_grid[index],
            grad_feature_grid[index],
            m[index],
            v[index],
            corrections[entry, 0],
            corrections[entry, 1],
            learning_rate,
            rates,
        )
        grad_feature_grid[index] = float32(0)


def launch_adam_weights(
    weights, grad_weights, m, v, step, corrections, learning_rate, rates, launch=on_gpu
):
    step, learning_rate = np.int32(step), np.float32(learning_rate)
    launch(
        adam_weights, blocks_for(weights.shape[0]), THREADS,
        weights, grad_weights, m, v, step, corrections, learning_rate, rates,
    )  # fmt: skip


def launch_adam_grid(
    feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates, launch=on_gpu
):
    learning_rate = np.float32(learning_rate)
    launch(
        adam_grid, blocks_for(steps.size), THREADS,
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates,
    )  # fmt: skip
