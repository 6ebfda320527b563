"""The row of a cell is its number divided by the height."""
# caught by: grid
# diagnosis: Look at how row is made

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

    row = cell // height
    column = cell % height
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
