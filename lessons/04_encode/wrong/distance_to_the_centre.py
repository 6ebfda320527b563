"""The fraction is folded at one half, as a distance to the nearest centre."""
# caught by: sub_cell
# diagnosis: min(fraction, 1 - fraction), in place of the fraction

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = uv[sample, 0], uv[sample, 1]

    low_u, high_u, fraction_u = neighbours(u, feature_grid.shape[1])
    low_v, high_v, fraction_v = neighbours(v, feature_grid.shape[0])
    rest_u = float32(1) - fraction_u
    rest_v = float32(1) - fraction_v
    distance_u = min(fraction_u, rest_u)
    distance_v = min(fraction_v, rest_v)
    features[sample, 3] = sine_of_turns(distance_u)
    features[sample, 4] = sine_of_turns(distance_v)

    features[sample, 0], features[sample, 1], features[sample, 2] = bilinear(feature_grid, u, v)

    quarter = float32(0.25)
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for coordinate in (u, v):
        waves = float32(1)
        for octave in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(waves * coordinate)
            features[sample, channel + 1] = sine_of_turns(waves * coordinate + quarter)
            waves = waves * float32(2)
            channel += 2
    for rest in range(channel, FEATURES):
        features[sample, rest] = float32(1)
