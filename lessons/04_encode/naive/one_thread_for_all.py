"""Thread 0 encodes all samples."""
# points: 0

from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    if cuda.grid(1) > 0:
        return
    for i in range(uv.shape[0]):
        red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
        features[i, 0] = red
        features[i, 1] = green
        features[i, 2] = blue
        features[i, 3] = sine_of_turns(neighbours(uv[i, 0], feature_grid.shape[1])[2])
        features[i, 4] = sine_of_turns(neighbours(uv[i, 1], feature_grid.shape[0])[2])
        channel = 5
        for axis in range(2):
            waves = uv[i, axis]
            for _ in range(FOURIER_OCTAVES):
                features[i, channel] = sine_of_turns(waves)
                features[i, channel + 1] = sine_of_turns(waves + float32(0.25))
                channel += 2
                waves = waves * float32(2)
        for padding in range(channel, FEATURES):
            features[i, padding] = float32(1)
