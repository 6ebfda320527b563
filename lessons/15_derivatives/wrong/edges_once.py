"""At the edges, where two corners are one cell, it gets one share only."""
# caught by: bilinear
# diagnosis: each cell only once

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
    cuda.atomic.add(grad_grid, (top, left, column), w0 * gradient)
    if right != left:
        cuda.atomic.add(grad_grid, (top, right, column), w1 * gradient)
    if bottom != top:
        cuda.atomic.add(grad_grid, (bottom, left, column), w2 * gradient)
        if right != left:
            cuda.atomic.add(grad_grid, (bottom, right, column), w3 * gradient)
