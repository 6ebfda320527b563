"""Untouched cells are computed as well, and what they were is stored."""
# points: 9

from numba import cuda, float32

from kernels.config import GRID_CHANNELS


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    """Update the touched cells of the feature grid; one thread per cell."""
    cell = cuda.grid(1)
    height, width = steps.shape
    if cell >= height * width:
        return
    y, x = cell // width, cell % width
    touched = False
    for channel in range(GRID_CHANNELS):
        if grad_feature_grid[y, x, channel] != float32(0):
            touched = True
    age = steps[y, x] + 1
    row = min(age, corrections.shape[0] - 1)
    for channel in range(GRID_CHANNELS):
        parameter, new_m, new_v = adam_step(
            feature_grid[y, x, channel], grad_feature_grid[y, x, channel],
            m[y, x, channel], v[y, x, channel],
            corrections[row, 0], corrections[row, 1], learning_rate, rates,
        )  # fmt: skip
        feature_grid[y, x, channel] = parameter if touched else feature_grid[y, x, channel]
        m[y, x, channel] = new_m if touched else m[y, x, channel]
        v[y, x, channel] = new_v if touched else v[y, x, channel]
        grad_feature_grid[y, x, channel] = float32(0)
    steps[y, x] = age if touched else steps[y, x]
