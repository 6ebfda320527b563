"""Sampling on the CPU: random points, look-ups, the encoding, and its way back.

    uv (2, samples), texture (h, w, 3)  ->  colours (3, samples), features (16, samples)

The idea: a bilinear look-up is two kinds of work. *Where* the four texels lie is arithmetic, the same
for all samples, and becomes vector instructions. *Reading* them is a walk to places that have
nothing to do with each other, sample by sample. Kept in two loops, each is as fast as it can be; and
the way back, which adds to the same four places, need not find them again.
"""

from numba import float32, uint32, uint64

from kernels.config import COLOURS, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.cpu.compile import compiled
from kernels.field_math import corner_weights, neighbours, random_uv, sine_of_turns


@compiled
def draw_uv(seed, step, first_sample, uv):
    for s in range(uv.shape[1]):
        uv[0, s], uv[1, s] = random_uv(uint64(first_sample + s), uint64(step), uint64(seed))


@compiled
def locate(uv, texture, corners, shares):
    """Where in the flat texture each sample's four texels begin, and what share each of them has.

    uv: (2, samples) float32. Writes corners (4, samples) uint32, shares (4, samples) float32.
    """
    height, width, channels = texture.shape
    for s in range(uv.shape[1]):
        left, right, x_fraction = neighbours(uv[0, s], width)
        top, bottom, y_fraction = neighbours(uv[1, s], height)
        corners[0, s] = (top * width + left) * channels
        corners[1, s] = (top * width + right) * channels
        corners[2, s] = (bottom * width + left) * channels
        corners[3, s] = (bottom * width + right) * channels
        shares[0, s], shares[1, s], shares[2, s], shares[3, s] = corner_weights(
            x_fraction, y_fraction
        )


@compiled
def look_up(texture, corners, shares, colours):
    """`field_math.bilinear` at the places that `locate` has found."""
    flat = texture.reshape(texture.size)
    for s in range(corners.shape[1]):
        for channel in range(COLOURS):
            # Unsigned: whether a place is counted from the end need not be asked.
            i = uint32(channel)
            colours[channel, s] = (
                shares[0, s] * flat[corners[0, s] + i]
                + shares[1, s] * flat[corners[1, s] + i]
                + shares[2, s] * flat[corners[2, s] + i]
                + shares[3, s] * flat[corners[3, s] + i]
            )


@compiled
def encode(uv, feature_grid, corners, shares, features):
    """Leaves `corners` and `shares` as `scatter` will need them."""
    locate(uv, feature_grid, corners, shares)
    look_up(feature_grid, corners, shares, features)
    for axis in range(2):
        cells = float32(feature_grid.shape[1 - axis])
        for s in range(uv.shape[1]):
            features[GRID_CHANNELS + axis, s] = sine_of_turns(uv[axis, s] * cells - float32(0.5))
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        for octave in range(FOURIER_OCTAVES):
            waves = float32(1 << octave)
            for s in range(uv.shape[1]):
                features[channel, s] = sine_of_turns(waves * uv[axis, s])
                features[channel + 1, s] = sine_of_turns(waves * uv[axis, s] + float32(0.25))
            channel += 2


@compiled
def scatter(corners, shares, delta, samples, grad_feature_grid):
    """What `look_up` blended, handed back: to the same places, with the same shares."""
    flat = grad_feature_grid.reshape(grad_feature_grid.size)
    for s in range(samples):
        for corner in range(4):
            for channel in range(GRID_CHANNELS):
                i = corners[corner, s] + uint32(channel)
                flat[i] += shares[corner, s] * delta[channel, s]
