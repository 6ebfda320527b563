"""The waves are moved into [0, 1]."""
# caught by: fourier
# diagnosis: another range

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import bilinear, neighbours, sine_of_turns


@register_jitable
def wave(row, channel, turns):
    half = float32(0.5)
    row[channel] = half + half * sine_of_turns(turns)
    row[channel + 1] = half + half * sine_of_turns(turns - float32(0.75))


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    row = features[sample]
    u, v = uv[sample, 0], uv[sample, 1]
    row[0], row[1], row[2] = bilinear(feature_grid, u, v)
    cells_v, cells_u, _ = feature_grid.shape
    _, _, along_u = neighbours(u, cells_u)
    _, _, along_v = neighbours(v, cells_v)
    row[3] = sine_of_turns(along_u)
    row[4] = sine_of_turns(along_v)
    wave(row, 5, u)
    wave(row, 7, u + u)
    wave(row, 9, v)
    wave(row, 11, v + v)
    for channel in range(13, 16):
        row[channel] = 1
