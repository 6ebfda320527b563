"""u and v are the centres of the grid's cells: uv is never read."""
# caught by: grid
# diagnosis: centres of cells

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, pixel_centre, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    height, width, channels = feature_grid.shape
    u, v = pixel_centre(sample, width, height)
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue
    low, high, u_fraction = neighbours(u, width)
    low, high, v_fraction = neighbours(v, height)
    features[sample, 3] = sine_of_turns(u_fraction)
    features[sample, 4] = sine_of_turns(v_fraction)
    features[sample, 5] = sine_of_turns(u)
    features[sample, 6] = sine_of_turns(u + float32(0.25))
    features[sample, 7] = sine_of_turns(float32(2) * u)
    features[sample, 8] = sine_of_turns(float32(2) * u + float32(0.25))
    features[sample, 9] = sine_of_turns(v)
    features[sample, 10] = sine_of_turns(v + float32(0.25))
    features[sample, 11] = sine_of_turns(float32(2) * v)
    features[sample, 12] = sine_of_turns(float32(2) * v + float32(0.25))
    for channel in range(13, FEATURES):
        features[sample, channel] = float32(1)
