"""A thread per channel, with a barrier."""

import numpy as np
from numba import cuda, float32

from kernels.config import GRID_CHANNELS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    channel = cuda.threadIdx.x
    cell = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    height, width = steps.shape
    inside = cell < height * width
    row = cell // width
    column = cell % width
    touched = False
    step = 0
    if inside:
        for c in range(GRID_CHANNELS):
            touched |= grad_feature_grid[row, column, c] != float32(0)
        step = steps[row, column] + 1
    cuda.syncthreads()
    if not touched:
        return
    if channel == 0:
        steps[row, column] = step
    entry = min(step, corrections.shape[0] - 1)
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
        adam_grid, blocks_for(steps.size, 32), (3, 32),
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates,
    )  # fmt: skip
