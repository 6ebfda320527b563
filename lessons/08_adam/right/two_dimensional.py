"""2-D blocks."""

import numpy as np
from numba import cuda, float32

from kernels.config import GRID_CHANNELS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    column, row = cuda.grid(2)
    height, width = steps.shape
    if row >= height or column >= width:
        return

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


def launch_adam_grid(
    feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates, launch=on_gpu
):
    learning_rate = np.float32(learning_rate)
    launch(
        adam_grid, (blocks_for(steps.shape[1], 16), blocks_for(steps.shape[0], 8)), (16, 8),
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates,
    )  # fmt: skip
