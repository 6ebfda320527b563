"""2-D blocks: a thread per sample and axis."""

from numba import cuda, float32
from kernels.config import FEATURES, FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def encode(uv, feature_grid, features):
    i, axis = cuda.grid(2)
    if i >= uv.shape[0] or axis >= 2:
        return
    if axis == 0:
        red, green, blue = bilinear(feature_grid, uv[i, 0], uv[i, 1])
        features[i, 0] = red
        features[i, 1] = green
        features[i, 2] = blue
    else:
        for c in range(13, FEATURES):
            features[i, c] = float32(1)
    size = feature_grid.shape[1 - axis]
    features[i, 3 + axis] = sine_of_turns(neighbours(uv[i, axis], size)[2])
    waves = uv[i, axis]
    for octave in range(FOURIER_OCTAVES):
        channel = 5 + 2 * FOURIER_OCTAVES * axis + 2 * octave
        features[i, channel] = sine_of_turns(waves)
        features[i, channel + 1] = sine_of_turns(waves + float32(0.25))
        waves = waves * float32(2)


def launch_encode(uv, feature_grid, features, launch=on_gpu):
    launch(encode, (blocks_for(uv.shape[0], 64), 1), (64, 2), uv, feature_grid, features)
