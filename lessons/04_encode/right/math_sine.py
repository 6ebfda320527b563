"""math.sin and math.cos of 2 pi waves."""

import math
from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours

TWO_PI = float32(2 * math.pi)


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    rows, columns = feature_grid.shape[:2]
    red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
    features[i, 0] = red
    features[i, 1] = green
    features[i, 2] = blue
    _, _, fx = neighbours(uv[i, 0], columns)
    _, _, fy = neighbours(uv[i, 1], rows)
    features[i, 3] = math.sin(TWO_PI * fx)
    features[i, 4] = math.sin(TWO_PI * fy)
    channel = 5
    for axis in range(2):
        turns = uv[i, axis]
        for _ in range(FOURIER_OCTAVES):
            features[i, channel] = math.sin(TWO_PI * turns)
            features[i, channel + 1] = math.cos(TWO_PI * turns)
            turns += turns
            channel += 2
    while channel < FEATURES:
        features[i, channel] = float32(1)
        channel += 1
