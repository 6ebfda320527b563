"""Powers of two instead of doubling."""

from numba import cuda, float32
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i < uv.shape[0]:
        u, v = uv[i]
        features[i, 0], features[i, 1], features[i, 2] = bilinear(feature_grid, u, v)
        features[i, 3] = sine_of_turns(neighbours(u, feature_grid.shape[1])[2])
        features[i, 4] = sine_of_turns(neighbours(v, feature_grid.shape[0])[2])
        for axis in range(2):
            for octave in range(2):
                waves = uv[i, axis] * float32(2**octave)
                features[i, 5 + 4 * axis + 2 * octave] = sine_of_turns(waves)
                features[i, 6 + 4 * axis + 2 * octave] = sine_of_turns(waves + float32(0.25))
        for c in range(13, 16):
            features[i, c] = 1
