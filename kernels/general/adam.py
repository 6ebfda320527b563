"""Adam for a feature grid of any number of channels; for weights, `kernels/adam.py` is general."""

import numpy as np
from numba import cuda, float32

from kernels.config import THREADS
from kernels.field_math import adam_step
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def adam_grid_channels(
    feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates
):
    """Update the touched cells of the feature grid; one thread per cell.

    feature_grid, grad_feature_grid, m, v: (gh, gw, C) float32. The rest as in `kernels/adam.py`.
    """
    cell = cuda.grid(1)
    height, width = steps.shape
    if cell >= height * width:
        return

    row, column = cell // width, cell % width
    touched = False
    for channel in range(feature_grid.shape[2]):
        touched |= grad_feature_grid[row, column, channel] != float32(0)
    if not touched:
        return

    step = steps[row, column] + 1
    steps[row, column] = step
    entry = min(step, corrections.shape[0] - 1)
    for channel in range(feature_grid.shape[2]):
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
        # The next backward pass adds to this, so it must find zero.
        grad_feature_grid[index] = float32(0)


def launch_adam_grid(
    feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates, launch=on_gpu
):
    learning_rate = np.float32(learning_rate)
    launch(
        adam_grid_channels, blocks_for(steps.size), THREADS,
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates,
    )  # fmt: skip
