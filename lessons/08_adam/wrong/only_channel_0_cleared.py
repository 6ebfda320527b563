"""Only the first channel's gradient is cleared."""
# caught by: grid
# diagnosis: only channel 0 cleared

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS, THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
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
    grad_feature_grid[row, column, 0] = float32(0)
