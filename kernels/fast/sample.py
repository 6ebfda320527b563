"""One sample of the fused kernels: drawn, encoded and scattered by one, two or four threads.

    seed, step  ->  u, v, colour  ->  sixteen features;    gradients of the grid's  ->  its cells

The same as `sampler`, `encode` and `backward.scatter` compute. New is how memory is asked:

- Textures have four channels: a texel is 16 bytes, read or added to at once. A picture's fourth
  channel is empty, and so is that of a grid of three. They are flat, (height * width, 4) float32,
  so that a texel's index is one number.
- The features leave as eight words of two halves, in the order of `encode`. Only the grid's
  features depend on parameters. The words of all others can be computed before a barrier.

How many neighbouring lanes share a sample:

    1   all of it, from the draw to the scatter           two barriers, the two kernels, painting
    2   one lane per side: the left or right texels and   large batches, wide networks
        cells; the left one has the waves of u, the
        right one those of v
    4   one lane per cell, which the lane also moves;     one barrier
        two lanes draw, as above

With two lanes, neighbours mostly ask for one line of memory, and a line is what the first-level
cache looks up: half as many look-ups as if one thread asked for four texels one after the other.

In all three `words_of_side` is the encoder. Only where the words are stored is different.
"""

from functools import cache

from numba import cuda, float32, int64, uint32, uint64

from kernels.config import COLOURS
from kernels.fast.ptx import add_four, load_four, pack_halves
from kernels.fast.sizes import FEATURE_WORDS, GROUP
from kernels.field_math import corner_weights, neighbours, random_uv, sine_of_turns

FIXED_POINT = 2.0**44  # a fixed-point gradient counts in units of 1 / FIXED_POINT
ALL_LANES = 0xFFFFFFFF


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


# ---------------------------------------------------------------- the encoder


@cuda.jit(device=True)
def waves_of_axis(position, cells):
    """Of one axis: the wave within a cell; sine and cosine of one wave and of two."""
    _, _, fraction = neighbours(position, cells)
    quarter, twice = float32(0.25), float32(2) * position
    return (
        sine_of_turns(fraction), sine_of_turns(position), sine_of_turns(position + quarter),
        sine_of_turns(twice), sine_of_turns(twice + quarter),
    )  # fmt: skip


@cache
def make_words_of_side(channels):
    """The encoder, for a grid of 3 or 4 channels, which come first; then waves; then ones."""

    @cuda.jit(device=True)
    def words_of_side(side, waves, other_inner, other_sine, red, green, blue, fourth):
        """Half of a sample's eight words: 1 to 4 on side 0; 5 to 7, and then 0, on side 1.

        waves: `waves_of_axis` u on side 0, of v on side 1; two of the other axis's waves. The
        grid's channels may be zero, and be added to the words later.
        """
        inner, sine, cosine, sine_two, cosine_two = waves
        one = float32(1)
        if channels == 4:
            w0, w1 = pack_halves(blue, fourth), pack_halves(inner, other_inner)
            w2, w3 = pack_halves(sine, cosine), pack_halves(sine_two, cosine_two)
            if side == 1:
                w0, w1 = w2, w3
        else:
            w0, w1 = pack_halves(blue, inner), pack_halves(other_inner, sine)
            w2, w3 = pack_halves(cosine, sine_two), pack_halves(cosine_two, other_sine)
            if side == 1:
                w0, w1 = w2, pack_halves(cosine_two, one)
        if side == 1:
            w2, w3 = pack_halves(one, one), pack_halves(red, green)
        return w0, w1, w2, w3

    return words_of_side


# ---------------------------------------------------------------- one thread per sample


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


@cache
def make_encode_position(channels):
    words_of_side = make_words_of_side(channels)

    @cuda.jit(device=True)
    def encode_position(u, v, width, height, words):
        """All of a sample's words, (8,) uint32, with zeros for the grid's features."""
        x, y, zero = waves_of_axis(u, width), waves_of_axis(v, height), float32(0)
        words[1], words[2], words[3], words[4] = words_of_side(
            0, x, y[0], y[1], zero, zero, zero, zero
        )
        words[5], words[6], words[7], words[0] = words_of_side(
            1, y, x[0], x[1], zero, zero, zero, zero
        )

    return encode_position


@cache
def make_encode_grid(channels):
    @cuda.jit(device=True)
    def encode_grid(feature_grid, corner, words, rows, thread):
        """Add the grid's features; write all words to a row of shared memory."""
        red, green, blue, fourth = bilinear_four(feature_grid, corner)
        last = fourth if channels == 4 else float32(0)
        rows[thread, 0], rows[thread, 1] = (
            pack_halves(red, green),
            words[1] | pack_halves(blue, last),
        )
        for word in range(2, FEATURE_WORDS):
            rows[thread, word] = words[word]

    return encode_grid


@cache
def make_draw(channels):
    encode_position = make_encode_position(channels)

    @cuda.jit(device=True)
    def draw(arrays, first, step, settings, words):
        """This thread's sample of the tile from `first` on; its words, as `encode_position` does.

        Returns ((u, v), (red, green, blue), `corners` in the grid).
        """
        u, v = random_uv(uint64(first + cuda.threadIdx.x), uint64(step), settings.seed)
        pixels = corners(u, v, settings.image_width, settings.image_height)
        red, green, blue, _ = bilinear_four(arrays.image, pixels)
        encode_position(u, v, settings.grid_width, settings.grid_height, words)
        cells = corners(u, v, settings.grid_width, settings.grid_height)
        return (u, v), (red, green, blue), cells

    return draw


# ---------------------------------------------------------------- two threads per sample


@cuda.jit(device=True)
def texels_of_side(u, v, side, width, height):
    """(upper texel, lower texel, their weights), of those on one side of a point."""
    i0, i1, i2, i3, w0, w1, w2, w3 = corners(u, v, width, height)
    if side == 1:
        return i1, i3, w1, w3
    return i0, i2, w0, w2


@cuda.jit(device=True)
def load_side(texture, texels):
    """The four channels of the upper texel, then of the lower one."""
    upper, lower, _, _ = texels
    return load_four(texture, upper), load_four(texture, lower)


@cuda.jit(device=True)
def of_other(value):
    """The other lane's value, of the two that share a sample."""
    return cuda.shfl_xor_sync(ALL_LANES, value, 1)


@cuda.jit(device=True)
def blend_sides(values, texels):
    """Three channels of a point: this side's texels, and those of the other lane's side."""
    (r0, g0, b0, _), (r1, g1, b1, _) = values
    _, _, upper, lower = texels
    red, green, blue = upper * r0 + lower * r1, upper * g0 + lower * g1, upper * b0 + lower * b1
    return red + of_other(red), green + of_other(green), blue + of_other(blue)


@cuda.jit(device=True)
def write_words(rows, first, sample, side, w0, w1, w2, w3):
    """Four of a sample's eight words (see `words_of_side`), for `read_words`.

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
def make_encode_pair(channels):
    """The features of 16 samples, by one warp, for a grid of 3 or 4 channels."""
    words_of_side = make_words_of_side(channels)

    @cuda.jit(device=True)
    def encode_pair(values, cells, u, v, width, height, lane, rows, first):
        """values: `load_side` of the grid's `cells`. Writes words to `rows` from `first` on."""
        sample, side = lane >> 1, lane & 1
        waves = waves_of_axis(v if side == 1 else u, height if side == 1 else width)
        other_inner, other_sine, fourth = of_other(waves[0]), float32(0), float32(0)
        red, green, blue = blend_sides(values, cells)
        if channels == 4:
            fourth = cells[2] * values[0][3] + cells[3] * values[1][3]
            fourth += of_other(fourth)
        else:
            other_sine = of_other(waves[1])
        w0, w1, w2, w3 = words_of_side(
            side, waves, other_inner, other_sine, red, green, blue, fourth
        )
        write_words(rows, first, sample, side, w0, w1, w2, w3)

    return encode_pair


@cache
def make_draw_pair(channels):
    encode_pair = make_encode_pair(channels)

    @cuda.jit(device=True)
    def draw_pair(arrays, number, step, settings, lane, rows, first, colours, own):
        """Sample `number` of a step: features to `rows`, its colour to row `own` of `colours`.

        colours: (samples, 4) float32. Returns (u, v, its `texels_of_side` in the grid).
        """
        side = lane & 1
        u, v = random_uv(uint64(number), uint64(step), settings.seed)
        cells = texels_of_side(u, v, side, settings.grid_width, settings.grid_height)
        pixels = texels_of_side(u, v, side, settings.image_width, settings.image_height)
        # Both are asked for before either is waited for.
        asked, values = load_side(arrays.image, pixels), load_side(arrays.feature_grid, cells)
        encode_pair(
            values, cells, u, v, settings.grid_width, settings.grid_height, lane, rows, first
        )
        red, green, blue = blend_sides(asked, pixels)
        if side == 0:
            colours[own, 0], colours[own, 1] = red, green
        else:
            colours[own, 2], colours[own, 3] = blue, float32(0)
        return u, v, cells

    return draw_pair


# ---------------------------------------------------------------- four threads per sample

# Features lie in shared memory as operands of the network: rows (groups, 32 lanes, 4) uint32.
words_of_three = make_words_of_side(COLOURS)


@cuda.jit(device=True)
def write_word(rows, sample, word, value):
    """One of a sample's eight words, to where the lane that needs it reads it."""
    lane, side = 4 * (sample & 7) + (word & 3), (sample >> 3) & 1
    rows[sample >> 4, lane, side + 2 * (word >> 2)] = value


@cuda.jit(device=True)
def encode_position_by_two(u, v, side, sample, settings, rows):
    """A sample's words, with zeros for the grid's features; half of them by each of two lanes."""
    width, height, zero = settings.grid_width, settings.grid_height, float32(0)
    waves = waves_of_axis(v if side == 1 else u, height if side == 1 else width)
    w0, w1, w2, w3 = words_of_three(
        side, waves, of_other(waves[0]), of_other(waves[1]), zero, zero, zero, zero
    )
    first = 1 + 4 * side
    write_word(rows, sample, first, w0)
    write_word(rows, sample, first + 1, w1)
    write_word(rows, sample, first + 2, w2)
    write_word(rows, sample, (first + 3) & 7, w3)


@cuda.jit(device=True)
def sum_of_quad(value):
    value += of_other(value)
    return value + cuda.shfl_xor_sync(ALL_LANES, value, 2)


@cuda.jit(device=True)
def encode_cells(sample, lane, weight, red, green, blue, rows):
    """Add the grid's features: each lane has its cell, and the cell's weight."""
    red, green, blue = (
        sum_of_quad(weight * red), sum_of_quad(weight * green), sum_of_quad(weight * blue),
    )  # fmt: skip
    group, first, side = sample >> 4, 4 * (sample & 7), (sample >> 3) & 1
    if (lane & 3) == 0:
        rows[group, first, side] = pack_halves(red, green)
    if (lane & 3) == 2:
        # Feature 3, which shares the word, is there.
        rows[group, first + 1, side] |= pack_halves(blue, float32(0))


@cuda.jit(device=True)
def cell_of_lane(u, v, lane, settings):
    """(index, weight) of the lane's own cell of the four around a sample."""
    i0, i1, i2, i3, w0, w1, w2, w3 = corners(u, v, settings.grid_width, settings.grid_height)
    right, below = (lane & 1) == 1, (lane & 2) == 2
    index, weight = i0, w0
    if right:
        index, weight = i1, w1
    if below:
        index, weight = i2, w2
        if right:
            index, weight = i3, w3
    return index, weight


# ---------------------------------------------------------------- backward


def make_add(channels, deterministic, vector_atomics):
    """Adds a gradient, times a weight, to that of one cell.

    Deterministic: as int64, in units of 1 / FIXED_POINT: sums of integers are the same in any
    order. vector_atomics: four floats at once, since compute capability 9.0.
    """
    number, unit = (int64, FIXED_POINT) if deterministic else (float32, 1.0)

    @cuda.jit(device=True)
    def add_at_once(grad, cell, weight, red, green, blue, fourth):
        last = weight * fourth if channels == 4 else float32(0)
        add_four(grad, cell, weight * red, weight * green, weight * blue, last)

    @cuda.jit(device=True)
    def add_singly(grad, cell, weight, red, green, blue, fourth):
        scale = weight * float32(unit)
        cuda.atomic.add(grad, (cell, 0), number(scale * red))
        cuda.atomic.add(grad, (cell, 1), number(scale * green))
        cuda.atomic.add(grad, (cell, 2), number(scale * blue))
        if channels == 4:
            cuda.atomic.add(grad, (cell, 3), number(scale * fourth))

    return add_at_once if vector_atomics and not deterministic else add_singly


@cache
def make_scatter(channels, deterministic, vector_atomics):
    """The backward pass of the encoder, by one thread."""
    add = make_add(channels, deterministic, vector_atomics)

    @cuda.jit(device=True)
    def scatter(grad, uv, width, height, scale, staging, thread):
        """Add a gradient to the four cells that the encoder blended, with the same weights.

        It is `scale` times the thread's row of staging.
        """
        red, green, blue = (
            scale * staging[thread, 0], scale * staging[thread, 1], scale * staging[thread, 2],
        )  # fmt: skip
        fourth = scale * staging[thread, 3] if channels == 4 else float32(0)
        i0, i1, i2, i3, w0, w1, w2, w3 = corners(uv[0], uv[1], width, height)
        add(grad, i0, w0, red, green, blue, fourth)
        add(grad, i1, w1, red, green, blue, fourth)
        add(grad, i2, w2, red, green, blue, fourth)
        add(grad, i3, w3, red, green, blue, fourth)

    return scatter


@cache
def make_scatter_pair(channels, deterministic):
    """The same by two threads, of which each has the cells of one side."""
    add = make_add(channels, deterministic, vector_atomics=True)

    @cuda.jit(device=True)
    def scatter_pair(grad, first, cells, scale, gradients, sample):
        """first: row of `grad` where the grid begins. gradients: (samples, 4), without `scale`."""
        upper, lower, upper_weight, lower_weight = cells
        red, green = scale * gradients[sample, 0], scale * gradients[sample, 1]
        blue, fourth = scale * gradients[sample, 2], scale * gradients[sample, 3]
        add(grad, uint32(first + upper), upper_weight, red, green, blue, fourth)
        add(grad, uint32(first + lower), lower_weight, red, green, blue, fourth)

    return scatter_pair


scatter_pair_of_three = make_scatter_pair(COLOURS, False)


@cuda.jit(device=True)
def scatter_floats(grad, first, group, lane, settings, uv, turn, colours, scale, inside):
    """The gradients of a group's features; two lanes per sample.

    first: row of grad where this turn begins. inside: samples of the block in the batch.
    """
    sample = GROUP * group + (lane >> 1)
    cells = texels_of_side(
        uv[turn, sample, 0], uv[turn, sample, 1], lane & 1, settings.grid_width,
        settings.grid_height,
    )  # fmt: skip
    if sample < inside:
        scatter_pair_of_three(grad, first, cells, scale, colours, sample)


@cuda.jit(device=True)
def add_fixed_point(grad, row, channel, weight, gradient):
    cuda.atomic.add(grad, (row, channel), int64(float32(FIXED_POINT) * (weight * gradient)))


@cuda.jit(device=True)
def scatter_fixed_point(grad, first, group, lane, settings, uv, turn, colours, scale, inside):
    """The same in fixed point; four lanes per sample, one per channel.

    What they add to is of one sector of 32 bytes.
    """
    for j in range(2):
        sample, channel = GROUP * group + 8 * j + (lane >> 2), lane & 3
        i0, i1, i2, i3, w0, w1, w2, w3 = corners(
            uv[turn, sample, 0], uv[turn, sample, 1], settings.grid_width, settings.grid_height
        )
        if sample < inside and channel < COLOURS:
            gradient = scale * colours[sample, channel]
            add_fixed_point(grad, uint32(first + i0), channel, w0, gradient)
            add_fixed_point(grad, uint32(first + i1), channel, w1, gradient)
            add_fixed_point(grad, uint32(first + i2), channel, w2, gradient)
            add_fixed_point(grad, uint32(first + i3), channel, w3, gradient)
