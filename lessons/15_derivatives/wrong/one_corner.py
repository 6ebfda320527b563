"""Only the top left corner gets its share."""
# caught by: bilinear
# diagnosis: one corner only

from numba import cuda
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import corner_weights, neighbours


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    left, _, x_fraction = neighbours(uv[row, 0], grad_grid.shape[1])
    top, _, y_fraction = neighbours(uv[row, 1], grad_grid.shape[0])
    w0, _, _, _ = corner_weights(x_fraction, y_fraction)
    cuda.atomic.add(grad_grid, (top, left, column), w0 * gradient)
