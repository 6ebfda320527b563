"""The quarter turn is added to the angle itself, which is then doubled."""
# caught by: fourier
# diagnosis: quarter stays

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = uv[sample, 0], uv[sample, 1]
    f0, f1, f2 = bilinear(feature_grid, u, v)
    features[sample, 0] = f0
    features[sample, 1] = f1
    features[sample, 2] = f2
    _, _, in_x = neighbours(u, feature_grid.shape[1])
    _, _, in_y = neighbours(v, feature_grid.shape[0])
    features[sample, 3] = sine_of_turns(in_x)
    features[sample, 4] = sine_of_turns(in_y)
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        turns = uv[sample, axis]
        for _ in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(turns)
            turns += float32(0.25)
            features[sample, channel + 1] = sine_of_turns(turns)
            channel += 2
            turns *= float32(2)
    for rest in range(channel, FEATURES):
        features[sample, rest] = float32(1)
