"""Only one octave is written."""
# caught by: fourier
# diagnosis: no channel holds the sine of two waves of u

from numba import cuda, float32

from kernels.config import FEATURES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    grid_height, grid_width, _ = feature_grid.shape
    a, b, c = bilinear(feature_grid, u, v)
    features[sample, 0] = a
    features[sample, 1] = b
    features[sample, 2] = c
    _, _, x_fraction = neighbours(u, grid_width)
    _, _, y_fraction = neighbours(v, grid_height)
    features[sample, 3] = sine_of_turns(x_fraction)
    features[sample, 4] = sine_of_turns(y_fraction)
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        waves = float32(1)
        for _octave in range(1):
            turns = waves * uv[sample, axis]
            features[sample, channel] = sine_of_turns(turns)
            features[sample, channel + 1] = sine_of_turns(turns + float32(0.25))
            channel += 2
            waves *= float32(2)
    for ones in range(channel, FEATURES):
        features[sample, ones] = float32(1)
