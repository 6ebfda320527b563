"""Two loops over the corners."""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import neighbours


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    left, right, x_fraction = neighbours(uv[row, 0], grad_grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[row, 1], grad_grid.shape[0])
    for i in range(2):
        cell_row = bottom if i else top
        share = gradient * (y_fraction if i else float32(1) - y_fraction)
        cuda.atomic.add(grad_grid, (cell_row, right, column), share * x_fraction)
        cuda.atomic.add(grad_grid, (cell_row, left, column), share * (float32(1) - x_fraction))
