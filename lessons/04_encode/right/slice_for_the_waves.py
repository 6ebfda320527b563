"""A device function gets a slice of the row."""

from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit(device=True)
def fill_waves(waves, part):
    for octave in range(FOURIER_OCTAVES):
        part[2 * octave] = sine_of_turns(waves)
        part[2 * octave + 1] = sine_of_turns(waves + float32(0.25))
        waves = waves + waves


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
    features[i, 0] = red
    features[i, 1] = green
    features[i, 2] = blue
    features[i, 3] = sine_of_turns(neighbours(uv[i, 0], feature_grid.shape[1])[2])
    features[i, 4] = sine_of_turns(neighbours(uv[i, 1], feature_grid.shape[0])[2])
    fill_waves(uv[i, 0], features[i, 5:9])
    fill_waves(uv[i, 1], features[i, 9:13])
    for c in range(13, FEATURES):
        features[i, c] = float32(1)
