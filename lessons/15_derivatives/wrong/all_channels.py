"""Each number is handed out to all channels of its four cells."""
# caught by: bilinear
# diagnosis: all channels

from numba import cuda
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import corner_weights, neighbours


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    left, right, x_fraction = neighbours(uv[row, 0], grad_grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[row, 1], grad_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    for channel in range(grad_grid.shape[2]):
        cuda.atomic.add(grad_grid, (top, left, channel), w0 * gradient)
        cuda.atomic.add(grad_grid, (top, right, channel), w1 * gradient)
        cuda.atomic.add(grad_grid, (bottom, left, channel), w2 * gradient)
        cuda.atomic.add(grad_grid, (bottom, right, channel), w3 * gradient)
