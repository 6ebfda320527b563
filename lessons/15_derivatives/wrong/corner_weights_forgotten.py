"""Each corner gets the whole gradient."""
# caught by: bilinear
# diagnosis: corner weights forgotten

from numba import cuda
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import neighbours


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    left, right, _ = neighbours(uv[row, 0], grad_grid.shape[1])
    top, bottom, _ = neighbours(uv[row, 1], grad_grid.shape[0])
    cuda.atomic.add(grad_grid, (top, left, column), gradient)
    cuda.atomic.add(grad_grid, (top, right, column), gradient)
    cuda.atomic.add(grad_grid, (bottom, left, column), gradient)
    cuda.atomic.add(grad_grid, (bottom, right, column), gradient)
