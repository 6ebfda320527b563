"""The first thread of a block moves the 128 weights, or cells, of all."""
# points: 9

from numba import cuda, float32

from kernels.config import GRID_CHANNELS, THREADS


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    """Update the network's weights."""
    if cuda.threadIdx.x != 0:
        return
    first = cuda.grid(1)
    row = min(step, corrections.shape[0] - 1)
    for i in range(first, min(first + THREADS, weights.shape[0])):
        weights[i], m[i], v[i] = adam_step(
            weights[i], grad_weights[i], m[i], v[i],
            corrections[row, 0], corrections[row, 1], learning_rate, rates,
        )  # fmt: skip
        grad_weights[i] = float32(0)


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    """Update the touched cells of the feature grid."""
    if cuda.threadIdx.x != 0:
        return
    height, width = steps.shape
    first = cuda.grid(1)
    for cell in range(first, min(first + THREADS, height * width)):
        y, x = cell // width, cell % width
        touched = False
        for channel in range(GRID_CHANNELS):
            if grad_feature_grid[y, x, channel] != float32(0):
                touched = True
        if touched:
            steps[y, x] += 1
            row = min(steps[y, x], corrections.shape[0] - 1)
            for channel in range(GRID_CHANNELS):
                parameter, new_m, new_v = adam_step(
                    feature_grid[y, x, channel], grad_feature_grid[y, x, channel],
                    m[y, x, channel], v[y, x, channel],
                    corrections[row, 0], corrections[row, 1], learning_rate, rates,
                )  # fmt: skip
                feature_grid[y, x, channel] = parameter
                m[y, x, channel] = new_m
                v[y, x, channel] = new_v
                grad_feature_grid[y, x, channel] = float32(0)
