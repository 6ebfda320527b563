"""Each corner gets the whole gradient."""
# caught by: grid
# diagnosis: corner weights forgotten

from numba import cuda
from numba.extending import register_jitable

from kernels.field_math import neighbours


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    left, right, x_fraction = neighbours(u, grad_feature_grid.shape[1])
    top, bottom, y_fraction = neighbours(v, grad_feature_grid.shape[0])
    cuda.atomic.add(grad_feature_grid, (top, left, channel), gradient)
    cuda.atomic.add(grad_feature_grid, (top, right, channel), gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, left, channel), gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, right, channel), gradient)
