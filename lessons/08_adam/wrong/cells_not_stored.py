"""adam_grid stores m and v, and not the cell."""
# caught by: grid
# diagnosis: parameters not stored

from numba import cuda, float32

from kernels.config import GRID_CHANNELS
from kernels.field_math import adam_step


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
        if grad_feature_grid[row, column, channel] != float32(0):
            touched = True
    if not touched:
        return
    steps[row, column] += 1
    t = min(steps[row, column], corrections.shape[0] - 1)
    for channel in range(GRID_CHANNELS):
        p, new_m, new_v = adam_step(
            feature_grid[row, column, channel],
            grad_feature_grid[row, column, channel],
            m[row, column, channel],
            v[row, column, channel],
            corrections[t, 0],
            corrections[t, 1],
            learning_rate,
            rates,
        )
        m[row, column, channel] = new_m
        v[row, column, channel] = new_v
        grad_feature_grid[row, column, channel] = float32(0)
