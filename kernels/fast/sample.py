"""One sample in the fused kernels, one thread per sample: draw, encode, scatter.

    seed, step  ->  u, v, colour  ->  features;    gradient of three features  ->  of four cells

The same as `sampler`, `encode` and `backward.scatter` do, on textures of four channels, the last
one empty: a texel is then 16 bytes, which are read, or added to, in one go. They are flat,
(height * width, 4) float32, so that a texel's index is one number.
"""

from numba import cuda, float32, int64, uint32, uint64

from kernels.config import (
    ENCODED,
    FEATURES,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    SUB_CELL_FEATURES,
)
from kernels.fast.ptx import add_four, load_four, pack_halves
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
    r0, g0, b0, _ = load_four(texture, i0)
    r1, g1, b1, _ = load_four(texture, i1)
    r2, g2, b2, _ = load_four(texture, i2)
    r3, g3, b3, _ = load_four(texture, i3)
    return (
        w0 * r0 + w1 * r1 + w2 * r2 + w3 * r3,
        w0 * g0 + w1 * g1 + w2 * g2 + w3 * g3,
        w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3,
    )


@cuda.jit(device=True)
def draw_sample(arrays, first, step, settings):
    """This thread's sample of the tile from `first` on: (u, v, red, green, blue)."""
    number = uint64(first + cuda.threadIdx.x)
    u, v = random_uv(number, uint64(step), settings.seed)
    corner = corners(u, v, settings.image_width, settings.image_height)
    red, green, blue = bilinear_four(arrays.image, corner)
    return u, v, red, green, blue


# ---------------------------------------------------------------- encoding


@cuda.jit(device=True)
def waves(turns, features, first):
    """Sines and cosines of one and two waves across the picture."""
    for octave in range(FOURIER_OCTAVES):
        features[first + 2 * octave] = sine_of_turns(turns)
        features[first + 2 * octave + 1] = sine_of_turns(turns + float32(0.25))
        turns *= float32(2)


@cuda.jit(device=True)
def encode_position(u, v, width, height, features):
    """Features 3 to 15 of `encode`: those that depend on no parameter."""
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
def prepare_features(sample, settings, features):
    """`encode_position` of a drawn sample. Returns the `corners` that `encode_grid` will need."""
    u, v = sample[0], sample[1]
    encode_position(u, v, settings.grid_width, settings.grid_height, features)
    return corners(u, v, settings.grid_width, settings.grid_height)


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
def add_fixed_point(grad, cell, weight, red, green, blue):
    """As int64, in units of 1 / FIXED_POINT: sums of integers are the same in any order."""
    scale = weight * float32(FIXED_POINT)
    cuda.atomic.add(grad, (cell, 0), int64(scale * red))
    cuda.atomic.add(grad, (cell, 1), int64(scale * green))
    cuda.atomic.add(grad, (cell, 2), int64(scale * blue))


def make_scatter(add):
    """The way back of `encode_grid`. add: how to add three channels to a cell's gradient."""

    @cuda.jit(device=True)
    def scatter(grad, u, v, width, height, red, green, blue):
        """Add a gradient to the four cells that the encoding blended, with the same weights."""
        i0, i1, i2, i3, w0, w1, w2, w3 = corners(u, v, width, height)
        add(grad, i0, w0, red, green, blue)
        add(grad, i1, w1, red, green, blue)
        add(grad, i2, w2, red, green, blue)
        add(grad, i3, w3, red, green, blue)

    return scatter
