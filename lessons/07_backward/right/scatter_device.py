"""Scatter is a device function."""

from numba import cuda

from kernels.field_math import corner_weights, neighbours


@cuda.jit(device=True)
def scatter(grad_feature_grid, u, v, channel, gradient):
    left, right, x_fraction = neighbours(u, grad_feature_grid.shape[1])
    top, bottom, y_fraction = neighbours(v, grad_feature_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    cuda.atomic.add(grad_feature_grid, (top, left, channel), w0 * gradient)
    cuda.atomic.add(grad_feature_grid, (top, right, channel), w1 * gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, left, channel), w2 * gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, right, channel), w3 * gradient)
