"""Each channel has a thread of its own: those of a cell meet in its gradients and its count."""
# caught by: grid
# diagnosis: as if each of the three channels had a thread of its own

from numba import cuda, float32

from kernels.adam import adam_step
from kernels.config import GRID_CHANNELS


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    gh, gw = steps.shape
    numbers = gh * gw * GRID_CHANNELS
    stride = cuda.gridsize(1)
    index = cuda.grid(1)
    while index < numbers:
        cell = index // GRID_CHANNELS
        channel = index % GRID_CHANNELS
        y = cell // gw
        x = cell % gw

        touched = False
        for k in range(GRID_CHANNELS):
            if grad_feature_grid[y, x, k] != float32(0):
                touched = True
        if touched:
            age = steps[y, x] + 1
            row = min(age, corrections.shape[0] - 1)
            p, m_new, v_new = adam_step(
                feature_grid[y, x, channel], grad_feature_grid[y, x, channel],
                m[y, x, channel], v[y, x, channel],
                corrections[row, 0], corrections[row, 1], learning_rate, rates,
            )  # fmt: skip
            feature_grid[y, x, channel] = p
            m[y, x, channel] = m_new
            v[y, x, channel] = v_new
            grad_feature_grid[y, x, channel] = float32(0)
            if channel == GRID_CHANNELS - 1:
                steps[y, x] = age
        index += stride
