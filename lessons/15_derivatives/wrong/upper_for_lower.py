"""The fraction of v is how near the lower cells are; here the upper ones get it."""
# caught by: bilinear
# diagnosis: corners mirrored along v

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import corner_weights, neighbours


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    left, right, along = neighbours(uv[row, 0], grad_grid.shape[1])
    top, bottom, down = neighbours(uv[row, 1], grad_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(along, float32(1) - down)
    cuda.atomic.add(grad_grid, (top, left, column), w0 * gradient)
    cuda.atomic.add(grad_grid, (top, right, column), w1 * gradient)
    cuda.atomic.add(grad_grid, (bottom, left, column), w2 * gradient)
    cuda.atomic.add(grad_grid, (bottom, right, column), w3 * gradient)
