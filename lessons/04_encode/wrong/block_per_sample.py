"""A block per sample, and a thread per channel, where the launch has a thread per sample."""
# caught by: grid
# diagnosis: takes the number of the block

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FEATURES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@register_jitable
def fourier(x, k):
    waves = float32(1)
    if k >= 2:
        waves = float32(2)
    phase = float32(0)
    if k % 2 == 1:
        phase = float32(0.25)
    return sine_of_turns(waves * x + phase)


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.blockIdx.x
    channel = cuda.threadIdx.x
    if sample >= uv.shape[0] or channel >= FEATURES:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    if channel < 3:
        features[sample, channel] = bilinear(feature_grid, u, v)[channel]
    elif channel == 3:
        features[sample, channel] = sine_of_turns(neighbours(u, feature_grid.shape[1])[2])
    elif channel == 4:
        features[sample, channel] = sine_of_turns(neighbours(v, feature_grid.shape[0])[2])
    elif channel < 9:
        features[sample, channel] = fourier(u, channel - 5)
    elif channel < 13:
        features[sample, channel] = fourier(v, channel - 9)
    else:
        features[sample, channel] = float32(1)
