"""Each of the three numbers of a cell is given a thread, where the launch has one per cell."""
# caught by: grid
# diagnosis: as if each of the three channels

from numba import cuda, float32

from kernels.config import GRID_CHANNELS


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    i = cuda.grid(1)
    height, width = steps.shape
    if i >= height * width * GRID_CHANNELS:
        return
    channel = i % GRID_CHANNELS
    column = i // GRID_CHANNELS % width
    row = i // (GRID_CHANNELS * width)
    if (
        grad_feature_grid[row, column, 0] == float32(0)
        and grad_feature_grid[row, column, 1] == float32(0)
        and grad_feature_grid[row, column, 2] == float32(0)
    ):
        return
    count = steps[row, column] + 1
    if channel == 0:
        steps[row, column] = count
    t = min(count, corrections.shape[0] - 1)
    place = (row, column, channel)
    feature_grid[place], m[place], v[place] = adam_step(
        feature_grid[place],
        grad_feature_grid[place],
        m[place],
        v[place],
        corrections[t, 0],
        corrections[t, 1],
        learning_rate,
        rates,
    )
    grad_feature_grid[place] = float32(0)
