"""The samples of a warp with two threads for each: one per side of the sample.

    seed, step  ->  u, v, colour  ->  features;    gradients of the grid's features  ->  of cells

The same as `sample` does with one thread. A sample lies between a left and a right column of
texels, and of cells. Two neighbouring lanes that ask for neighbouring texels mostly ask for one
line of memory, and a line is what the first-level cache looks up: half as many as if one thread
asked for all four, one after the other. So 16 samples are drawn at once, as many as one product
takes.

One lane has u and its waves, the other v and its own. Both have the colour.
"""

from functools import cache

from numba import cuda, float32, uint32, uint64

from kernels.fast.ptx import pack_halves
from kernels.fast.ptx_memory import load_four
from kernels.fast.sample import corners, make_add
from kernels.field_math import neighbours, random_uv, sine_of_turns

ALL_LANES = 0xFFFFFFFF
ROW_WORDS = 8  # of a sample: two features in each


@cuda.jit(device=True)
def draw(number, step, settings):
    """(u, v) of sample `number` of a step, both from 0 to 1."""
    return random_uv(uint64(number), uint64(step), settings.seed)


@cuda.jit(device=True)
def cells_of_side(u, v, side, width, height):
    """(upper cell, lower cell, their shares), of those on one side, in a grid of this size."""
    p0, p1, p2, p3, s0, s1, s2, s3 = corners(u, v, width, height)
    if side == 1:
        return p1, p3, s1, s3
    return p0, p2, s0, s2


@cuda.jit(device=True)
def values_of(feature_grid, cells):
    """The four channels of the upper cell, then of the lower one."""
    upper, lower, _, _ = cells
    return load_four(feature_grid, upper), load_four(feature_grid, lower)


# ---------------------------------------------------------------- features


@cuda.jit(device=True)
def of_both(value):
    """The sum of a value over both lanes of a sample."""
    return value + cuda.shfl_xor_sync(ALL_LANES, value, 1)


@cuda.jit(device=True)
def of_other(value):
    return cuda.shfl_xor_sync(ALL_LANES, value, 1)


@cuda.jit(device=True)
def waves_of_axis(position, cells):
    """Of one axis: the wave within a cell; sine and cosine of one wave and of two."""
    _, _, fraction = neighbours(position, cells)
    quarter, twice = float32(0.25), float32(2) * position
    return (
        sine_of_turns(fraction), sine_of_turns(position), sine_of_turns(position + quarter),
        sine_of_turns(twice), sine_of_turns(twice + quarter),
    )  # fmt: skip


@cuda.jit(device=True)
def write_words(rows, first, sample, side, w0, w1, w2, w3):
    """Four of a sample's eight words: 1 to 4 from one lane, 5 to 7 and 0 from the other.

    A lane of the products reads four words of one place, 16 bytes: word `column` of samples `row`
    and `row + 8`, and the word four further of both. Places of two samples change theirs, by an
    exclusive or, so that neither the 32 words stored at once meet in a bank nor those read.
    """
    row, swap = sample & 7, (sample >> 1) & 3
    # Words 4 further lie 2 places further; the last of each lane crosses over.
    place = uint32(first + 16 * row + (sample >> 3))
    rows[place + 4 * (1 ^ swap) + 2 * side] = w0
    rows[place + 4 * (2 ^ swap) + 2 * side] = w1
    rows[place + 4 * (3 ^ swap) + 2 * side] = w2
    rows[place + 4 * swap + 2 * (1 - side)] = w3


@cuda.jit(device=True)
def read_words(rows, first, lane, words):
    """The operand of the first product: 16 samples x 16 features."""
    row, column = lane >> 2, lane & 3
    place = uint32(first + 16 * row + 4 * (column ^ ((row >> 1) & 3)))
    for i in range(4):
        words[i] = rows[place + i]


@cache
def make_encode(channels):
    """The features of 16 samples, for a grid of 3 or 4 channels."""

    @cuda.jit(device=True)
    def encode(values, u, v, sample, side, width, height, cells, rows, first):
        """values: `values_of` cells, which are `cells_of_side`. Writes words from `first` on."""
        _, _, upper_share, lower_share = cells
        r0, g0, b0, a0 = values[0]
        r1, g1, b1, a1 = values[1]
        position = v if side == 1 else u
        count = height if side == 1 else width
        inner, sine, cosine, sine_two, cosine_two = waves_of_axis(position, count)
        other_inner = of_other(inner)
        first_0 = of_both(upper_share * r0 + lower_share * r1)
        first_1 = of_both(upper_share * g0 + lower_share * g1)
        first_2 = of_both(upper_share * b0 + lower_share * b1)
        one = float32(1)
        if channels == 4:
            first_3 = of_both(upper_share * a0 + lower_share * a1)
            w0, w1 = pack_halves(first_2, first_3), pack_halves(inner, other_inner)
            w2, w3 = pack_halves(sine, cosine), pack_halves(sine_two, cosine_two)
            if side == 1:
                w0, w1 = w2, w3
        else:
            other_sine = of_other(sine)
            w0, w1 = pack_halves(first_2, inner), pack_halves(other_inner, sine)
            w2, w3 = pack_halves(cosine, sine_two), pack_halves(cosine_two, other_sine)
            if side == 1:
                w0, w1 = w2, pack_halves(cosine_two, one)
        if side == 1:
            w2, w3 = pack_halves(one, one), pack_halves(first_0, first_1)
        write_words(rows, first, sample, side, w0, w1, w2, w3)

    return encode


# ---------------------------------------------------------------- the way back


@cache
def make_scatter(channels, deterministic):
    add = make_add(channels, deterministic, vector_atomics=True)

    @cuda.jit(device=True)
    def scatter(grad, cells, scale, gradients, sample):
        """Add the gradients of a sample's first features to the cells of this lane's side.

        gradients: (samples, 4) float32, without `scale`.
        """
        upper, lower, upper_share, lower_share = cells
        red, green = scale * gradients[sample, 0], scale * gradients[sample, 1]
        blue, fourth = scale * gradients[sample, 2], scale * gradients[sample, 3]
        add(grad, upper, upper_share, red, green, blue, fourth)
        add(grad, lower, lower_share, red, green, blue, fourth)

    return scatter
