"""u and v are given the fractions before the lookup in the grid uses them."""
# caught by: grid
# diagnosis: the fraction along u, the fraction along v

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = uv[sample, 0], uv[sample, 1]
    grid_height, grid_width, _ = feature_grid.shape
    _, _, u = neighbours(u, grid_width)
    _, _, v = neighbours(v, grid_height)
    features[sample, 3] = sine_of_turns(u)
    features[sample, 4] = sine_of_turns(v)
    f0, f1, f2 = bilinear(feature_grid, u, v)
    features[sample, 0] = f0
    features[sample, 1] = f1
    features[sample, 2] = f2
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        turns = uv[sample, axis]
        for octave in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(turns)
            features[sample, channel + 1] = sine_of_turns(turns + float32(0.25))
            channel += 2
            turns *= float32(2)
    for rest in range(channel, FEATURES):
        features[sample, rest] = float32(1)
