"""Top and bottom are exchanged."""
# caught by: grid
# diagnosis: top and bottom exchanged

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)
from kernels.field_math import corner_weights, neighbours


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    left, right, x = neighbours(u, grad_feature_grid.shape[1])
    top, bottom, y = neighbours(v, grad_feature_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x, y)
    cuda.atomic.add(grad_feature_grid, (bottom, left, channel), w0 * gradient)
    cuda.atomic.add(grad_feature_grid, (bottom, right, channel), w1 * gradient)
    cuda.atomic.add(grad_feature_grid, (top, left, channel), w2 * gradient)
    cuda.atomic.add(grad_feature_grid, (top, right, channel), w3 * gradient)
