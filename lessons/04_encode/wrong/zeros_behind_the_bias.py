"""Channel 13 is one, as a bias, and the last two are zeros."""
# caught by: float32
# diagnosis: 0 is in channels 14 and 15

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    n = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if n >= uv.shape[0]:
        return
    point_u = uv[n, 0]
    point_v = uv[n, 1]
    a, b, c = bilinear(feature_grid, point_u, point_v)
    features[n, 0] = a
    features[n, 1] = b
    features[n, 2] = c
    _left, _right, along_u = neighbours(point_u, feature_grid.shape[1])
    _top, _bottom, along_v = neighbours(point_v, feature_grid.shape[0])
    features[n, 3] = sine_of_turns(along_u)
    features[n, 4] = sine_of_turns(along_v)
    waves = float32(1)
    for octave in range(FOURIER_OCTAVES):
        k = 5 + 2 * octave
        features[n, k] = sine_of_turns(waves * point_u)
        features[n, k + 1] = sine_of_turns(waves * point_u + float32(0.25))
        m = k + 2 * FOURIER_OCTAVES
        features[n, m] = sine_of_turns(waves * point_v)
        features[n, m + 1] = sine_of_turns(waves * point_v + float32(0.25))
        waves = float32(2) * waves
    bias = 5 + 4 * FOURIER_OCTAVES
    features[n, bias] = float32(1)
    for pad in range(bias + 1, FEATURES):
        features[n, pad] = float32(0)
