"""The grid is blended along u alone: the row below is never read."""
# caught by: grid
# diagnosis: weighed with 1 - x, x, 0 and 0

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS
from kernels.field_math import neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    left, right, fx = neighbours(u, feature_grid.shape[1])
    top, bottom, fy = neighbours(v, feature_grid.shape[0])
    for c in range(GRID_CHANNELS):
        west = feature_grid[top, left, c]
        east = feature_grid[top, right, c]
        features[sample, c] = west + fx * (east - west)
    features[sample, 3] = sine_of_turns(fx)
    features[sample, 4] = sine_of_turns(fy)
    quarter = float32(0.25)
    k = 5
    for axis in range(2):
        waves = float32(1)
        for octave in range(FOURIER_OCTAVES):
            angle = waves * uv[sample, axis]
            features[sample, k] = sine_of_turns(angle)
            features[sample, k + 1] = sine_of_turns(angle + quarter)
            waves *= float32(2)
            k += 2
    for one in range(k, FEATURES):
        features[sample, one] = float32(1)
