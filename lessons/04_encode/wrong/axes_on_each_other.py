"""Both axes are written to the same four channels."""
# caught by: fourier
# diagnosis: one over the other

from numba import cuda, float32

from kernels.config import FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue
    _, _, x_fraction = neighbours(u, feature_grid.shape[1])
    _, _, y_fraction = neighbours(v, feature_grid.shape[0])
    features[sample, 3] = sine_of_turns(x_fraction)
    features[sample, 4] = sine_of_turns(y_fraction)
    for axis in range(2):
        turns = uv[sample, axis]
        for octave in range(FOURIER_OCTAVES):
            channel = 5 + 2 * octave
            features[sample, channel] = sine_of_turns(turns)
            features[sample, channel + 1] = sine_of_turns(turns + float32(0.25))
            turns = turns + turns
    features[sample, 13] = float32(1)
    features[sample, 14] = float32(1)
    features[sample, 15] = float32(1)
