"""The channel begins at 5 again for v, and ones fill what is left."""
# caught by: fourier
# diagnosis: must not begin at 5 again

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    row = cuda.grid(1)
    if row >= uv.shape[0]:
        return
    red, green, blue = bilinear(feature_grid, uv[row, 0], uv[row, 1])
    features[row, 0] = red
    features[row, 1] = green
    features[row, 2] = blue
    _, _, across = neighbours(uv[row, 0], feature_grid.shape[1])
    _, _, down = neighbours(uv[row, 1], feature_grid.shape[0])
    features[row, GRID_CHANNELS] = sine_of_turns(across)
    features[row, GRID_CHANNELS + 1] = sine_of_turns(down)
    for axis in range(2):
        next_channel = GRID_CHANNELS + SUB_CELL_FEATURES
        turns = uv[row, axis]
        for _ in range(FOURIER_OCTAVES):
            features[row, next_channel] = sine_of_turns(turns)
            next_channel += 1
            features[row, next_channel] = sine_of_turns(turns + float32(0.25))
            next_channel += 1
            turns += turns
    while next_channel < FEATURES:
        features[row, next_channel] = float32(1)
        next_channel += 1
