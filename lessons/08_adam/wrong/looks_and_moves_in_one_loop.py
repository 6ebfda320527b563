"""Looking and moving are one loop: channels before the first with a gradient are left out."""
# caught by: grid
# diagnosis: channels before the first gradient

from numba import cuda, float32

from kernels.config import GRID_CHANNELS
from kernels.field_math import adam_step


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    last_row = corrections.shape[0] - 1
    width = feature_grid.shape[1]
    for cell in range(cuda.grid(1), steps.shape[0] * width, cuda.gridsize(1)):
        i = cell // width
        j = cell % width
        touched = False
        row = 0
        for channel in range(GRID_CHANNELS):
            gradient = grad_feature_grid[i, j, channel]
            if gradient != float32(0) and not touched:
                touched = True
                steps[i, j] += 1
                row = min(steps[i, j], last_row)
            if touched:
                result = adam_step(
                    feature_grid[i, j, channel],
                    gradient,
                    m[i, j, channel],
                    v[i, j, channel],
                    corrections[row, 0],
                    corrections[row, 1],
                    learning_rate,
                    rates,
                )
                feature_grid[i, j, channel] = result[0]
                m[i, j, channel] = result[1]
                v[i, j, channel] = result[2]
                grad_feature_grid[i, j, channel] = float32(0)
