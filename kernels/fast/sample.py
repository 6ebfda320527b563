"""One sample in the fused kernels: look up four channels at once, encode, scatter.

    u, v  ->  colour or features;   gradient of three features  ->  gradient of four cells

The same as `sampler`, `encode` and `backward.scatter` do, on textures of four channels, the last
one empty: a texel is then 16 bytes, which are read, or added to, in one go. They are flat,
(height * width, 4) float32, so that a texel's place is one number.
"""

from numba import cuda, float32, int64, uint32

from kernels.config import (
    ENCODED,
    FEATURES,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    SUB_CELL_FEATURES,
)
from kernels.fast.ptx import add_four, load_four, pack_halves
from kernels.field_math import corner_weights, neighbours, sine_of_turns

FIXED_POINT = 2.0**44  # steps of a whole-number gradient in 1


@cuda.jit(device=True)
def corners(u, v, width, height):
    """(place, weight) of the four texels around a point: top left, top right, then below."""
    left, right, x_fraction = neighbours(u, width)
    top, bottom, y_fraction = neighbours(v, height)
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    # Unsigned: a place is never negative, and need not be looked at for it.
    upper, lower = uint32(top * width), uint32(bottom * width)
    left, right = uint32(left), uint32(right)
    return (
        uint32(upper + left), uint32(upper + right), uint32(lower + left), uint32(lower + right),
        w0, w1, w2, w3,
    )  # fmt: skip


@cuda.jit(device=True)
def bilinear_four(texture, corner):
    """`field_math.bilinear` on a texture of four channels, at `corners`: four loads in all."""
    p0, p1, p2, p3, w0, w1, w2, w3 = corner
    r0, g0, b0, _ = load_four(texture, p0)
    r1, g1, b1, _ = load_four(texture, p1)
    r2, g2, b2, _ = load_four(texture, p2)
    r3, g3, b3, _ = load_four(texture, p3)
    return (
        w0 * r0 + w1 * r1 + w2 * r2 + w3 * r3,
        w0 * g0 + w1 * g1 + w2 * g2 + w3 * g3,
        w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3,
    )


@cuda.jit(device=True)
def waves(turns, features, first):
    """Sines and cosines of one and two waves across the picture."""
    for octave in range(FOURIER_OCTAVES):
        features[first + 2 * octave] = sine_of_turns(turns)
        features[first + 2 * octave + 1] = sine_of_turns(turns + float32(0.25))
        turns *= float32(2)


@cuda.jit(device=True)
def encode_position(u, v, width, height, features):
    """Features 3 to 15 of `encode`: all that no parameter has a say in."""
    _, _, x_fraction = neighbours(u, width)
    _, _, y_fraction = neighbours(v, height)
    features[GRID_CHANNELS] = sine_of_turns(x_fraction)
    features[GRID_CHANNELS + 1] = sine_of_turns(y_fraction)
    first_wave = GRID_CHANNELS + SUB_CELL_FEATURES
    waves(u, features, first_wave)
    waves(v, features, first_wave + 2 * FOURIER_OCTAVES)
    for padding in range(ENCODED, FEATURES):
        features[padding] = float32(1)


@cuda.jit(device=True)
def encode_grid(feature_grid, corner, features, rows, thread):
    """Features 0 to 2; and all sixteen packed to eight words of a row of shared memory."""
    features[0], features[1], features[2] = bilinear_four(feature_grid, corner)
    for pair in range(FEATURES // 2):
        rows[thread, pair] = pack_halves(features[2 * pair], features[2 * pair + 1])


# ---------------------------------------------------------------- ways to add a gradient


@cuda.jit(device=True)
def add_floats(grad, cell, weight, red, green, blue):
    add_four(grad, cell, weight * red, weight * green, weight * blue, float32(0))


@cuda.jit(device=True)
def add_floats_singly(grad, cell, weight, red, green, blue):
    """For GPUs before compute capability 9.0, which add one float at a time."""
    cuda.atomic.add(grad, (cell, 0), weight * red)
    cuda.atomic.add(grad, (cell, 1), weight * green)
    cuda.atomic.add(grad, (cell, 2), weight * blue)


@cuda.jit(device=True)
def add_whole_numbers(grad, cell, weight, red, green, blue):
    """Sums of whole numbers are the same in any order."""
    scale = weight * float32(FIXED_POINT)
    cuda.atomic.add(grad, (cell, 0), int64(scale * red))
    cuda.atomic.add(grad, (cell, 1), int64(scale * green))
    cuda.atomic.add(grad, (cell, 2), int64(scale * blue))


def make_scatter(add):
    """What the encoding blended from four cells, handed back to them with the same weights."""

    @cuda.jit(device=True)
    def scatter(grad, u, v, width, height, red, green, blue):
        p0, p1, p2, p3, w0, w1, w2, w3 = corners(u, v, width, height)
        add(grad, p0, w0, red, green, blue)
        add(grad, p1, w1, red, green, blue)
        add(grad, p2, w2, red, green, blue)
        add(grad, p3, w3, red, green, blue)

    return scatter
