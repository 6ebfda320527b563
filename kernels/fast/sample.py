"""One sample in the fused kernels, one thread per sample: draw, encode, scatter.

    seed, step  ->  u, v, colour  ->  features;    gradient of the grid's  ->  of four cells

The same as `sampler`, `encode` and `backward.scatter` do, on textures of four channels: a texel is
then 16 bytes, which are read, or added to, in one go. A picture's fourth channel is empty, and so
is that of a grid of three. They are flat, (height * width, 4) float32, so that a texel's index is
one number.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, int64, uint32, uint64

from kernels.config import FEATURES, FOURIER_OCTAVES, SUB_CELL_FEATURES
from kernels.fast.ptx import pack_halves
from kernels.fast.ptx_memory import add_four, load_four
from kernels.field_math import corner_weights, neighbours, random_uv, sine_of_turns

FIXED_POINT = 2.0**44  # a fixed-point gradient counts in units of 1 / FIXED_POINT


@cuda.jit(device=True)
def corners(u, v, width, height):
    """The four texels around a point, top left, top right, then below: indices, then weights."""
    left, right, x_fraction = neighbours(u, width)
    top, bottom, y_fraction = neighbours(v, height)
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    # Unsigned, so Numba emits no check for negative indices.
    upper, lower = uint32(top * width), uint32(bottom * width)
    left, right = uint32(left), uint32(right)
    return (
        uint32(upper + left), uint32(upper + right), uint32(lower + left), uint32(lower + right),
        w0, w1, w2, w3,
    )  # fmt: skip


@cuda.jit(device=True)
def bilinear_four(texture, corner):
    """`field_math.bilinear` on a texture of four channels, at its `corners`: four loads in all."""
    i0, i1, i2, i3, w0, w1, w2, w3 = corner
    r0, g0, b0, a0 = load_four(texture, i0)
    r1, g1, b1, a1 = load_four(texture, i1)
    r2, g2, b2, a2 = load_four(texture, i2)
    r3, g3, b3, a3 = load_four(texture, i3)
    return (
        w0 * r0 + w1 * r1 + w2 * r2 + w3 * r3,
        w0 * g0 + w1 * g1 + w2 * g2 + w3 * g3,
        w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3,
        w0 * a0 + w1 * a1 + w2 * a2 + w3 * a3,
    )


@cuda.jit(device=True)
def draw_sample(arrays, first, step, settings):
    """This thread's sample of the tile from `first` on: (u, v, red, green, blue)."""
    number = uint64(first + cuda.threadIdx.x)
    u, v = random_uv(number, uint64(step), settings.seed)
    corner = corners(u, v, settings.image_width, settings.image_height)
    red, green, blue, _ = bilinear_four(arrays.image, corner)
    return u, v, red, green, blue


# ---------------------------------------------------------------- encoding


@cuda.jit(device=True)
def waves(turns, features, first):
    """Sines and cosines of one and two waves across the picture."""
    for octave in range(FOURIER_OCTAVES):
        features[first + 2 * octave] = sine_of_turns(turns)
        features[first + 2 * octave + 1] = sine_of_turns(turns + float32(0.25))
        turns *= float32(2)


class Encoding(NamedTuple):
    """Device functions for a grid of 3 or 4 channels; see `make_encoding`."""

    encode_position: Callable
    prepare_features: Callable
    encode_grid: Callable


@cache
def make_encoding(channels):
    """`Encoding` for a grid of so many channels: the first features are the grid's."""
    first_wave = channels + SUB_CELL_FEATURES
    first_padding = first_wave + 4 * FOURIER_OCTAVES

    @cuda.jit(device=True)
    def encode_position(u, v, width, height, features):
        """The features of `encode` that depend on no parameter: all but the grid's."""
        _, _, x_fraction = neighbours(u, width)
        _, _, y_fraction = neighbours(v, height)
        features[channels] = sine_of_turns(x_fraction)
        features[channels + 1] = sine_of_turns(y_fraction)
        waves(u, features, first_wave)
        waves(v, features, first_wave + 2 * FOURIER_OCTAVES)
        for padding in range(first_padding, FEATURES):
            features[padding] = float32(1)

    @cuda.jit(device=True)
    def prepare_features(sample, settings, features):
        """`encode_position` of a drawn sample. Returns the `corners` that `encode_grid` needs."""
        u, v = sample[0], sample[1]
        encode_position(u, v, settings.grid_width, settings.grid_height, features)
        return corners(u, v, settings.grid_width, settings.grid_height)

    @cuda.jit(device=True)
    def encode_grid(feature_grid, corner, features, rows, thread):
        """The grid's features; and all sixteen packed to eight words of a row of shared memory."""
        features[0], features[1], features[2], fourth = bilinear_four(feature_grid, corner)
        if channels == 4:
            features[3] = fourth
        for pair in range(FEATURES // 2):
            rows[thread, pair] = pack_halves(features[2 * pair], features[2 * pair + 1])

    return Encoding(encode_position, prepare_features, encode_grid)


# ---------------------------------------------------------------- the way back


def make_add_floats(channels):
    @cuda.jit(device=True)
    def add_floats(grad, cell, weight, red, green, blue, fourth):
        last = weight * fourth if channels == 4 else float32(0)
        add_four(grad, cell, weight * red, weight * green, weight * blue, last)

    return add_floats


def make_add_floats_singly(channels):
    @cuda.jit(device=True)
    def add_floats_singly(grad, cell, weight, red, green, blue, fourth):
        """For GPUs before compute capability 9.0, which add one float at a time."""
        cuda.atomic.add(grad, (cell, 0), weight * red)
        cuda.atomic.add(grad, (cell, 1), weight * green)
        cuda.atomic.add(grad, (cell, 2), weight * blue)
        if channels == 4:
            cuda.atomic.add(grad, (cell, 3), weight * fourth)

    return add_floats_singly


def make_add_fixed_point(channels):
    @cuda.jit(device=True)
    def add_fixed_point(grad, cell, weight, red, green, blue, fourth):
        """As int64, in units of 1 / FIXED_POINT: sums of integers are the same in any order."""
        scale = weight * float32(FIXED_POINT)
        cuda.atomic.add(grad, (cell, 0), int64(scale * red))
        cuda.atomic.add(grad, (cell, 1), int64(scale * green))
        cuda.atomic.add(grad, (cell, 2), int64(scale * blue))
        if channels == 4:
            cuda.atomic.add(grad, (cell, 3), int64(scale * fourth))

    return add_fixed_point


def make_add(channels, deterministic, vector_atomics):
    """Adds a gradient, times a weight, to that of one cell."""
    if deterministic:
        return make_add_fixed_point(channels)
    return make_add_floats(channels) if vector_atomics else make_add_floats_singly(channels)


def make_scatter(channels, deterministic, vector_atomics):
    """The way back of `encode_grid`, as a device function."""
    add = make_add(channels, deterministic, vector_atomics)

    @cuda.jit(device=True)
    def scatter(grad, u, v, width, height, scale, staging, thread):
        """Add a gradient to the four cells that the encoding blended, with the same weights.

        It is `scale` times the thread's row of staging.
        """
        red, green, blue = (
            scale * staging[thread, 0], scale * staging[thread, 1], scale * staging[thread, 2],
        )  # fmt: skip
        fourth = scale * staging[thread, 3] if channels == 4 else float32(0)
        i0, i1, i2, i3, w0, w1, w2, w3 = corners(u, v, width, height)
        add(grad, i0, w0, red, green, blue, fourth)
        add(grad, i1, w1, red, green, blue, fourth)
        add(grad, i2, w2, red, green, blue, fourth)
        add(grad, i3, w3, red, green, blue, fourth)

    return scatter
