"""neighbours gets the position less half, which it computes itself."""
# caught by: sub_cell
# diagnosis: neighbours(u * width - 0.5, width)

from numba import cuda, float32

from kernels.config import FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    height, width, _ = feature_grid.shape
    u, v = uv[sample, 0], uv[sample, 1]
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue
    position_x = u * float32(width) - float32(0.5)
    position_y = v * float32(height) - float32(0.5)
    _, _, along_x = neighbours(position_x, width)
    _, _, along_y = neighbours(position_y, height)
    features[sample, 3] = sine_of_turns(along_x)
    features[sample, 4] = sine_of_turns(along_y)
    for octave in range(FOURIER_OCTAVES):
        waves = float32(1 << octave)
        features[sample, 5 + 2 * octave] = sine_of_turns(waves * u)
        features[sample, 6 + 2 * octave] = sine_of_turns(waves * u + float32(0.25))
        features[sample, 9 + 2 * octave] = sine_of_turns(waves * v)
        features[sample, 10 + 2 * octave] = sine_of_turns(waves * v + float32(0.25))
    for channel in range(13, 16):
        features[sample, channel] = float32(1)
