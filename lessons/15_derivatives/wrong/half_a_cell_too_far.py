"""The half is forgotten: cell i is taken to have its centre at i / size."""
# caught by: bilinear
# diagnosis: half a cell too far

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.derivatives.functions import bilinear
from kernels.derivatives.registry import derivative_of
from kernels.field_math import corner_weights


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    h, w, _ = grad_grid.shape
    px = uv[row, 0] * float32(w)
    py = uv[row, 1] * float32(h)
    x0 = max(0, min(int32(math.floor(px)), w - 1))
    y0 = max(0, min(int32(math.floor(py)), h - 1))
    x1 = min(x0 + 1, w - 1)
    y1 = min(y0 + 1, h - 1)
    fx = px - float32(math.floor(px))
    fy = py - float32(math.floor(py))
    a, b, c, d = corner_weights(fx, fy)
    cuda.atomic.add(grad_grid, (y0, x0, column), a * gradient)
    cuda.atomic.add(grad_grid, (y0, x1, column), b * gradient)
    cuda.atomic.add(grad_grid, (y1, x0, column), c * gradient)
    cuda.atomic.add(grad_grid, (y1, x1, column), d * gradient)
