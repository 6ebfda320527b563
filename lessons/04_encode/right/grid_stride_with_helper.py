"""A grid-stride loop, and a helper for the waves that fills a local array."""

from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit(device=True)
def fill_waves(waves, row):
    for octave in range(FOURIER_OCTAVES):
        row[2 * octave] = sine_of_turns(waves)
        row[2 * octave + 1] = sine_of_turns(waves + float32(0.25))
        waves = waves + waves


@cuda.jit
def encode(uv, feature_grid, features):
    local = cuda.local.array(4, float32)
    for i in range(cuda.grid(1), uv.shape[0], cuda.gridsize(1)):
        red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
        features[i, 0] = red
        features[i, 1] = green
        features[i, 2] = blue
        features[i, 3] = sine_of_turns(neighbours(uv[i, 0], feature_grid.shape[1])[2])
        features[i, 4] = sine_of_turns(neighbours(uv[i, 1], feature_grid.shape[0])[2])
        for axis in range(2):
            fill_waves(uv[i, axis], local)
            for c in range(4):
                features[i, 5 + 4 * axis + c] = local[c]
        for c in range(13, FEATURES):
            features[i, c] = float32(1)
