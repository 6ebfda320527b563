"""The coordinates themselves come behind the waves, and one bias."""
# caught by: float32
# diagnosis: u is in channel 13; v is in channel 14

from numba import cuda, float32

from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = uv[i, 0], uv[i, 1]
    features[i, 0], features[i, 1], features[i, 2] = bilinear(feature_grid, u, v)
    features[i, 3] = sine_of_turns(neighbours(u, feature_grid.shape[1])[2])
    features[i, 4] = sine_of_turns(neighbours(v, feature_grid.shape[0])[2])
    for octave in range(2):
        waves = float32(1 + octave)
        features[i, 5 + 2 * octave] = sine_of_turns(waves * u)
        features[i, 6 + 2 * octave] = sine_of_turns(waves * u + float32(0.25))
        features[i, 9 + 2 * octave] = sine_of_turns(waves * v)
        features[i, 10 + 2 * octave] = sine_of_turns(waves * v + float32(0.25))
    features[i, 13] = u
    features[i, 14] = v
    features[i, 15] = float32(1)
