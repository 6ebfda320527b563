"""The samples of a block with four threads for each: one per cell around the sample.

    seed, step  ->  u, v, colour  ->  features;    gradients of three features  ->  of four cells

The same as `sample` does, whose `corners` are used here too. There one thread has a sample; here a
block has four times as many threads as samples. Drawing is the work of half of them, two per
sample: each looks up the texels of one side, and computes five of the ten waves.

Features lie in shared memory as operands of the network: rows (groups, 32 lanes, 4) uint32.
"""

from numba import cuda, float32, int64, uint32

from kernels.config import COLOURS
from kernels.fast.cells import SHARE, VALUE
from kernels.fast.ptx import pack_halves
from kernels.fast.ptx_memory import load_four
from kernels.fast.sample import FIXED_POINT, corners, make_add_floats
from kernels.fast.warp_network import GROUP
from kernels.field_math import neighbours, sine_of_turns

ALL_LANES = 0xFFFFFFFF
add_floats = make_add_floats(COLOURS)


# ---------------------------------------------------------------- colour, two threads per sample


@cuda.jit(device=True)
def texels(image, u, v, side, settings):
    """Of the four texels around a point the two on one side, and their shares."""
    p0, p1, p2, p3, s0, s1, s2, s3 = corners(u, v, settings.image_width, settings.image_height)
    if side == 1:
        p0, s0, p2, s2 = p1, s1, p3, s3
    return load_four(image, p0), load_four(image, p2), s0, s2


@cuda.jit(device=True)
def both_sides(upper, lower, upper_share, lower_share):
    """The point's colour: these texels, and those of the other side, which the neighbour has."""
    r0, g0, b0, _ = upper
    r1, g1, b1, _ = lower
    red, green, blue = (
        upper_share * r0 + lower_share * r1, upper_share * g0 + lower_share * g1,
        upper_share * b0 + lower_share * b1,
    )  # fmt: skip
    return (
        red + cuda.shfl_xor_sync(ALL_LANES, red, 1),
        green + cuda.shfl_xor_sync(ALL_LANES, green, 1),
        blue + cuda.shfl_xor_sync(ALL_LANES, blue, 1),
    )


# ---------------------------------------------------------------- features


@cuda.jit(device=True)
def write_word(rows, sample, word, value):
    """One of a sample's eight words, to where the lane that needs it reads it."""
    lane, side = 4 * (sample & 7) + (word & 3), (sample >> 3) & 1
    rows[sample >> 4, lane, side + 2 * (word >> 2)] = value


@cuda.jit(device=True)
def write_padding(rows, sample):
    write_word(rows, sample, 7, pack_halves(float32(1), float32(1)))


@cuda.jit(device=True)
def encode_position(u, v, side, sample, settings, rows):
    """Features 3 to 13, of which the last is padding; half of them by each of two threads."""
    _, _, x_fraction = neighbours(u, settings.grid_width)
    _, _, y_fraction = neighbours(v, settings.grid_height)
    quarter, two = float32(0.25), float32(2)
    t0, t1, t2, t3, t4 = x_fraction, y_fraction, u, u + quarter, two * u
    if side == 1:
        t0, t1, t2 = two * u + quarter, v, v + quarter
        t3, t4 = two * v, two * v + quarter
    f0, f1, f2 = sine_of_turns(t0), sine_of_turns(t1), sine_of_turns(t2)
    f3, f4 = sine_of_turns(t3), sine_of_turns(t4)
    # The first shares a word with feature 2, which is not known yet.
    w0, w1, w2 = pack_halves(float32(0), f0), pack_halves(f1, f2), pack_halves(f3, f4)
    if side == 1:
        w0, w1, w2 = pack_halves(f0, f1), pack_halves(f2, f3), pack_halves(f4, float32(1))
    first = 1 + 3 * side
    write_word(rows, sample, first, w0)
    write_word(rows, sample, first + 1, w1)
    write_word(rows, sample, first + 2, w2)


@cuda.jit(device=True)
def sum_of_quad(value):
    value += cuda.shfl_xor_sync(ALL_LANES, value, 1)
    return value + cuda.shfl_xor_sync(ALL_LANES, value, 2)


@cuda.jit(device=True)
def encode_cells(sample, lane, cell, rows):
    """Features 0 to 2: the four threads' cells, each times its share."""
    red = sum_of_quad(cell[SHARE] * cell[VALUE])
    green = sum_of_quad(cell[SHARE] * cell[VALUE + 1])
    blue = sum_of_quad(cell[SHARE] * cell[VALUE + 2])
    group, first, side = sample >> 4, 4 * (sample & 7), (sample >> 3) & 1
    if (lane & 3) == 0:
        rows[group, first, side] = pack_halves(red, green)
    if (lane & 3) == 2:
        # Feature 3, which shares the word, is there.
        rows[group, first + 1, side] |= pack_halves(blue, float32(0))


@cuda.jit(device=True)
def corner(uv, turn, sample, lane, settings):
    """(index, share) of the thread's own cell of the four around a sample."""
    p0, p1, p2, p3, s0, s1, s2, s3 = corners(
        uv[turn, sample, 0], uv[turn, sample, 1], settings.grid_width, settings.grid_height
    )
    right, below = (lane & 1) == 1, (lane & 2) == 2
    index, share = p0, s0
    if right:
        index, share = p1, s1
    if below:
        index, share = p2, s2
        if right:
            index, share = p3, s3
    return index, share


# ---------------------------------------------------------------- the way back


@cuda.jit(device=True)
def add_fixed_point(grad, row, channel, share, gradient):
    cuda.atomic.add(grad, (row, channel), int64(float32(FIXED_POINT) * (share * gradient)))


@cuda.jit(device=True)
def scatter_whole_numbers(grad, first, group, lane, settings, uv, turn, colours, scale, inside):
    """The gradients of a group's features, to four cells of each sample, as whole numbers.

    first: row of grad where this turn begins. inside: samples of the block in the batch. Four lanes
    for a sample, one per channel: what they add to is of one sector of 32 bytes.
    """
    for j in range(2):
        sample, channel = GROUP * group + 8 * j + (lane >> 2), lane & 3
        p0, p1, p2, p3, s0, s1, s2, s3 = corners(
            uv[turn, sample, 0], uv[turn, sample, 1], settings.grid_width, settings.grid_height
        )
        if sample < inside and channel < COLOURS:
            gradient = scale * colours[sample, channel]
            add_fixed_point(grad, uint32(first + p0), channel, s0, gradient)
            add_fixed_point(grad, uint32(first + p1), channel, s1, gradient)
            add_fixed_point(grad, uint32(first + p2), channel, s2, gradient)
            add_fixed_point(grad, uint32(first + p3), channel, s3, gradient)


@cuda.jit(device=True)
def scatter_floats(grad, first, group, lane, settings, uv, turn, colours, scale, inside):
    """The same as floats, four at a time, with two lanes for a sample.

    Neighbouring lanes have neighbouring cells, which are often of one sector.
    """
    sample = GROUP * group + (lane >> 1)
    p0, p1, p2, p3, s0, s1, s2, s3 = corners(
        uv[turn, sample, 0], uv[turn, sample, 1], settings.grid_width, settings.grid_height
    )
    if lane & 1:
        p0, s0, p2, s2 = p1, s1, p3, s3
    if sample < inside:
        red, green, blue = (
            scale * colours[sample, 0], scale * colours[sample, 1], scale * colours[sample, 2],
        )  # fmt: skip
        none = float32(0)
        add_floats(grad, uint32(first + p0), s0, red, green, blue, none)
        add_floats(grad, uint32(first + p2), s2, red, green, blue, none)
