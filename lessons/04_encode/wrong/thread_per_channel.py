"""Sixteen threads share a sample, and the launch has only one thread per sample."""
# caught by: grid
# diagnosis: takes 16 to write a row

from numba import cuda, float32

from kernels.config import FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    thread = cuda.grid(1)
    sample = thread // FEATURES
    channel = thread % FEATURES
    if sample >= uv.shape[0]:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    if channel < 3:
        features[sample, channel] = bilinear(feature_grid, u, v)[channel]
    elif channel == 3:
        _, _, fraction = neighbours(u, feature_grid.shape[1])
        features[sample, channel] = sine_of_turns(fraction)
    elif channel == 4:
        _, _, fraction = neighbours(v, feature_grid.shape[0])
        features[sample, channel] = sine_of_turns(fraction)
    elif channel < 13:
        wave = channel - 5
        axis = wave // 4
        turns = uv[sample, axis] * float32(1 + (wave // 2) % 2)
        if wave % 2 == 1:
            turns += float32(0.25)
        features[sample, channel] = sine_of_turns(turns)
    else:
        features[sample, channel] = float32(1)
