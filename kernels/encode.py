"""Stage 2, the encoding: describe a coordinate with sixteen numbers a network can work with.

    uv (B, 2), feature_grid (gh, gw, 3)  ->  features (B, 16)

The idea: a small network fed with (u, v) alone paints a blur, because its output changes slowly
with its input. So each sample brings along

    channels 0-2    three values of a learnable grid, blended bilinearly: a small picture that
                    training will turn into whatever helps most
    channels 3-4    one sinusoid per axis with the period of one grid cell: where between the
                    grid points the sample lies, which the grid itself cannot say
    channels 5-12   sines and cosines of one and two waves across the picture: roughly where
    channels 13-15  ones that fill up a tile of 16, so that the matrix kernels need no edge case;
                    their weights act as a bias of the first layer, which zeros would not

Sources: Fourier features, Tancik et al., NeurIPS 2020; learnable grids, Mueller et al., "Instant
Neural Graphics Primitives", SIGGRAPH 2022.
"""

from numba import cuda, float32

from kernels.config import FEATURES, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES, THREADS
from kernels.field_math import bilinear, neighbours, sine_of_turns
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def encode(uv, feature_grid, features):
    """Encode one batch; one thread per sample.

    uv: (B, 2) float32 in [0, 1). feature_grid: (gh, gw, 3) float32.
    Writes features (B, 16) float32.
    """
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    u = uv[sample, 0]
    v = uv[sample, 1]
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue

    _, _, x_fraction = neighbours(u, feature_grid.shape[1])
    _, _, y_fraction = neighbours(v, feature_grid.shape[0])
    features[sample, GRID_CHANNELS] = sine_of_turns(x_fraction)
    features[sample, GRID_CHANNELS + 1] = sine_of_turns(y_fraction)

    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        waves = uv[sample, axis]
        for _ in range(FOURIER_OCTAVES):
            features[sample, channel] = sine_of_turns(waves)
            # A cosine is a sine that started a quarter turn earlier.
            features[sample, channel + 1] = sine_of_turns(waves + float32(0.25))
            channel += 2
            waves *= float32(2)

    for padding in range(channel, FEATURES):
        features[sample, padding] = float32(1)


def launch_encode(uv, feature_grid, features, launch=on_gpu):
    launch(encode, blocks_for(uv.shape[0]), THREADS, uv, feature_grid, features)
