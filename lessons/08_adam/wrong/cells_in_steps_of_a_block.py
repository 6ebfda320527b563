"""A loop over the cells goes on by the threads of one block: blocks come to the same cells."""
# caught by: grid
# diagnosis: goes on by the threads of one block

from numba import cuda, float32

from kernels.adam import adam_step
from kernels.config import GRID_CHANNELS


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    height, width = steps.shape
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(first, height * width, cuda.blockDim.x):
        row = cell // width
        column = cell % width
        touched = False
        for channel in range(GRID_CHANNELS):
            if grad_feature_grid[row, column, channel] != float32(0):
                touched = True
        if touched:
            steps[row, column] += 1
            t = min(steps[row, column], corrections.shape[0] - 1)
            for channel in range(GRID_CHANNELS):
                a, b, c = adam_step(
                    feature_grid[row, column, channel],
                    grad_feature_grid[row, column, channel],
                    m[row, column, channel],
                    v[row, column, channel],
                    corrections[t, 0],
                    corrections[t, 1],
                    learning_rate,
                    rates,
                )
                feature_grid[row, column, channel] = a
                m[row, column, channel] = b
                v[row, column, channel] = c
                grad_feature_grid[row, column, channel] = float32(0)
