"""The nearest cell gets everything."""
# caught by: grid
# diagnosis: nearest cell

from numba import cuda, float32, int32
from numba.extending import register_jitable


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    row = int32(v * float32(grad_feature_grid.shape[0]))
    column = int32(u * float32(grad_feature_grid.shape[1]))
    cuda.atomic.add(grad_feature_grid, (row, column, channel), gradient)
