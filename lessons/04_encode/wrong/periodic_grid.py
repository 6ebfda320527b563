"""The grid is periodic: at an edge, cells of the opposite edge are blended in."""
# caught by: grid
# diagnosis: those of the opposite edge are blended in

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import sine_of_turns


@register_jitable
def stencil(coordinate, n):
    """Two points of a row of n cells, and the distance from the first of them."""
    xi = coordinate * float32(n) - float32(0.5)
    i = int32(math.floor(xi))
    d = xi - float32(i)
    return (i + n) % n, (i + 1) % n, d


@cuda.jit
def encode(uv, feature_grid, features):
    """Encode one batch; one thread per sample."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= features.shape[0]:
        return
    x = uv[i, 0]
    y = uv[i, 1]
    ileft, iright, dx = stencil(x, feature_grid.shape[1])
    jtop, jbottom, dy = stencil(y, feature_grid.shape[0])
    ex = float32(1) - dx
    ey = float32(1) - dy
    for k in range(GRID_CHANNELS):
        upper = ex * feature_grid[jtop, ileft, k] + dx * feature_grid[jtop, iright, k]
        lower = ex * feature_grid[jbottom, ileft, k] + dx * feature_grid[jbottom, iright, k]
        features[i, k] = ey * upper + dy * lower
    features[i, GRID_CHANNELS] = sine_of_turns(dx)
    features[i, GRID_CHANNELS + 1] = sine_of_turns(dy)
    k = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        waves = float32(1)
        for octave in range(FOURIER_OCTAVES):
            turns = waves * uv[i, axis]
            features[i, k] = sine_of_turns(turns)
            features[i, k + 1] = sine_of_turns(turns + float32(0.25))
            k = k + 2
            waves = waves * float32(2)
    while k < FEATURES:
        features[i, k] = float32(1)
        k = k + 1
