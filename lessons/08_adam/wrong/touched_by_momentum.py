"""A cell counts as touched if its m is not zero; that tells of earlier batches."""
# caught by: grid
# diagnosis: momentum decides

from numba import cuda, float32

from kernels.adam import adam_step
from kernels.config import GRID_CHANNELS


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    new_values = cuda.local.array(GRID_CHANNELS, float32)
    cell = cuda.grid(1)
    if cell < steps.size:
        width = feature_grid.shape[1]
        row, column = divmod(cell, width)
        touched = 0
        for channel in range(GRID_CHANNELS):
            if m[row, column, channel] != 0:
                touched += 1
        if touched > 0:
            age = steps[row, column] + 1
            steps[row, column] = age
            entry = min(age, corrections.shape[0] - 1)
            for channel in range(GRID_CHANNELS):
                at = (row, column, channel)
                new_values[channel], m[at], v[at] = adam_step(
                    feature_grid[at],
                    grad_feature_grid[at],
                    m[at],
                    v[at],
                    corrections[entry, 0],
                    corrections[entry, 1],
                    learning_rate,
                    rates,
                )
            for channel in range(GRID_CHANNELS):
                feature_grid[row, column, channel] = new_values[channel]
                grad_feature_grid[row, column, channel] = 0
