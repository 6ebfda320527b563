"""Only channel 13 gets a one."""
# caught by: float32
# diagnosis: nothing was written to channels 14 and 15

import math

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = uv[sample, 0], uv[sample, 1]
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue
    _, _, x_fraction = neighbours(u, feature_grid.shape[1])
    _, _, y_fraction = neighbours(v, feature_grid.shape[0])
    features[sample, 3] = sine_of_turns(x_fraction)
    features[sample, 4] = sine_of_turns(y_fraction)
    channel = 5
    for axis in range(2):
        waves = uv[sample, axis]
        for _ in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(waves)
            features[sample, channel + 1] = sine_of_turns(waves + float32(0.25))
            channel += 2
            waves = waves * float32(2)
    for padding in range(channel, channel + 1):
        features[sample, padding] = float32(1)
