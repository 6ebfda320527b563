"""A row of the features as a view."""

from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i < uv.shape[0]:
        row = features[i]
        for c in range(13, FEATURES):
            row[c] = float32(1)
        red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
        row[0] = red
        row[1] = green
        row[2] = blue
        for axis, size in enumerate((feature_grid.shape[1], feature_grid.shape[0])):
            row[3 + axis] = sine_of_turns(neighbours(uv[i, axis], size)[2])
        for axis in range(2):
            waves = uv[i, axis]
            first = 5 + 2 * FOURIER_OCTAVES * axis
            for octave in range(FOURIER_OCTAVES):
                row[first + 2 * octave] = sine_of_turns(waves)
                row[first + 2 * octave + 1] = sine_of_turns(waves + float32(0.25))
                waves *= float32(2)
