"""The cosine is the root of 1 - sine * sine, which has no sign."""
# caught by: fourier
# diagnosis: The cosines, and only they, are never negative

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@register_jitable
def sin_cos(turns):
    one = float32(1)
    s = sine_of_turns(turns)
    c = math.sqrt(max(float32(0), one - s * s))
    return s, c


@register_jitable
def cell_wave(coordinate, cells):
    low, high, fraction = neighbours(coordinate, cells)
    return sine_of_turns(fraction)


@cuda.jit
def encode(uv, feature_grid, features):
    gid = cuda.grid(1)
    if gid >= uv.shape[0]:
        return
    u = uv[gid, 0]
    v = uv[gid, 1]
    rows, columns, _ = feature_grid.shape

    r, g, b = bilinear(feature_grid, u, v)
    features[gid, 0] = r
    features[gid, 1] = g
    features[gid, 2] = b
    features[gid, 3] = cell_wave(u, columns)
    features[gid, 4] = cell_wave(v, rows)

    turns_u = u
    turns_v = v
    for octave in range(FOURIER_OCTAVES):
        su, cu = sin_cos(turns_u)
        sv, cv = sin_cos(turns_v)
        at = 5 + 2 * octave
        features[gid, at] = su
        features[gid, at + 1] = cu
        features[gid, at + 4] = sv
        features[gid, at + 5] = cv
        turns_u = turns_u + turns_u
        turns_v = turns_v + turns_v

    features[gid, 13] = float32(1)
    features[gid, 14] = float32(1)
    features[gid, 15] = float32(1)
