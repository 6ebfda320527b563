"""Cells beyond the grid are left out: their shares belong to the cell at the edge."""
# caught by: bilinear
# diagnosis: shares beyond the edge lost

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import corner_weights


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    height, width, _ = grad_grid.shape
    px = uv[row, 0] * float32(width) - float32(0.5)
    py = uv[row, 1] * float32(height) - float32(0.5)
    left = int32(math.floor(px))
    top = int32(math.floor(py))
    shares = corner_weights(px - float32(left), py - float32(top))
    for corner in range(4):
        x = left + corner % 2
        y = top + corner // 2
        if 0 <= x < width and 0 <= y < height:
            cuda.atomic.add(grad_grid, (y, x, column), shares[corner] * gradient)
