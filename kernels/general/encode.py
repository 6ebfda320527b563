"""The encoding, and its way back, for any number of grid channels and octaves.

    uv (B, 2), feature_grid (gh, gw, C)  ->  features (B, F)
    uv, gradients of features            ->  grad_feature_grid (gh, gw, C)     added to

The idea is that of `kernels/encode.py`, in the same order: C channels of the grid, where between
its cells a sample lies, sines and cosines of 1, 2, 4 ... waves, and ones that fill up the last
tile.
"""

from numba import cuda, float32

from kernels.config import SUB_CELL_FEATURES, THREADS
from kernels.field_math import blend, corner_weights, neighbours, sine_of_turns
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def encode_channels(uv, feature_grid, octaves, features):
    """One thread per sample. uv: (B, 2) float32 in [0, 1). Writes features (B, F) float32."""
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    left, right, x_fraction = neighbours(uv[sample, 0], feature_grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[sample, 1], feature_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    channels = feature_grid.shape[2]
    for channel in range(channels):
        features[sample, channel] = blend(
            feature_grid, top, bottom, left, right, w0, w1, w2, w3, channel
        )
    features[sample, channels] = sine_of_turns(x_fraction)
    features[sample, channels + 1] = sine_of_turns(y_fraction)

    column = channels + SUB_CELL_FEATURES
    for axis in range(2):
        waves = uv[sample, axis]
        for _ in range(octaves):
            features[sample, column] = sine_of_turns(waves)
            # A cosine is a sine that started a quarter turn earlier.
            features[sample, column + 1] = sine_of_turns(waves + float32(0.25))
            column += 2
            waves *= float32(2)

    for padding in range(column, features.shape[1]):
        features[sample, padding] = float32(1)


@cuda.jit
def scatter(uv, deltas, row, grad_feature_grid):
    """Add the gradients deltas[row, sample, channel] to the four cells around each sample.

    uv: (B, 2), deltas: (rows, B, at least C), grad_feature_grid: (gh, gw, C); all float32. One
    thread per sample.
    """
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    left, right, x_fraction = neighbours(uv[sample, 0], grad_feature_grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[sample, 1], grad_feature_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    for channel in range(grad_feature_grid.shape[2]):
        delta = deltas[row, sample, channel]
        # Samples share cells, so each addition has to be atomic.
        cuda.atomic.add(grad_feature_grid, (top, left, channel), w0 * delta)
        cuda.atomic.add(grad_feature_grid, (top, right, channel), w1 * delta)
        cuda.atomic.add(grad_feature_grid, (bottom, left, channel), w2 * delta)
        cuda.atomic.add(grad_feature_grid, (bottom, right, channel), w3 * delta)


def launch_encode(uv, feature_grid, octaves, features, launch=on_gpu):
    launch(encode_channels, blocks_for(uv.shape[0]), THREADS, uv, feature_grid, octaves, features)


def launch_scatter(uv, deltas, row, grad_feature_grid, launch=on_gpu):
    launch(scatter, blocks_for(uv.shape[0]), THREADS, uv, deltas, row, grad_feature_grid)
