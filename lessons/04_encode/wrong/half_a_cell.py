"""The wave within a cell is made from u times the width, so it starts at the cell's edge."""
# caught by: sub_cell
# diagnosis: half a cell

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, sine_of_turns


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

    features[sample, 3] = sine_of_turns(u * float32(feature_grid.shape[1]))
    features[sample, 4] = sine_of_turns(v * float32(feature_grid.shape[0]))

    channel = 5
    for axis in range(2):
        waves = uv[sample, axis]
        for _ in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(waves)
            features[sample, channel + 1] = sine_of_turns(waves + float32(0.25))
            channel += 2
            waves *= float32(2)

    for padding in range(channel, FEATURES):
        features[sample, padding] = float32(1)
