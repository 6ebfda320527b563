"""Products on tensor cores, for a warp that takes 32 samples through a network.

A layer is `sums = operand @ weights`. The operand (samples x inputs) lies in registers, as A
fragments; so do the sums (samples x units), as C fragments. Packed to 16 bits, sums are the next
layer's operand. Weights are B fragments, loaded from shared memory just when they are needed.
See `ptx` for the layouts: lane 4 r + c has "row" r and "column" c.

In shared memory a word holds the weights from two neighbouring inputs, 2 p and 2 p + 1, to one
unit: word p * pitch + unit. Rows are 8 words longer than there are units, so that the 4 x 8 words
that a warp reads at once lie in 32 different banks.

Loops here have constant ends, and are unrolled: only then are arrays of registers registers. So
each function is made for one size by a function around it. Divisions by 4 and 32 are written as
shifts, because `//` and `%` take care of negative numbers, which costs instructions. So does an
index that may be negative, and would then count from the end: the number of a thread is masked
where it is read, and a place in memory likewise, which changes neither, but lets the compiler know.
"""

from numba import cuda, float32, uint32

from kernels.fast.ptx import (
    halves_to_bfloats,
    mask_of_signs,
    multiply_bfloats,
    multiply_halves,
    one_of_each,
    pack_bfloats,
    pack_open_bfloats,
    pack_open_halves,
    transpose_8x8,
)

WARP = 32
TILES = 2  # tiles of 16 samples a warp: two chains of products that need not wait for each other
UNITS = 8  # a tensor core makes 8 units at a time
SIGNS = 0x80008000  # of both 16-bit numbers in a word
BELOW_SIGNS = 0x7FFF7FFF
NOT_NEGATIVE = 0x7FFFFFFF


def make_forward_product(blocks, unit_tiles, pitch):
    """sums = operand @ weights, for `blocks` x 16 inputs and `unit_tiles` x 8 units; halves."""

    @cuda.jit(device=True)
    def forward_product(words, first, lane, operand, sums):
        row, column = lane & 3, lane >> 2
        for unit_tile in range(unit_tiles):
            for tile in range(TILES):
                for i in range(4):
                    sums[tile, unit_tile, i] = float32(0)
            for block in range(blocks):
                at = first + (8 * block + row) * pitch + UNITS * unit_tile + column
                low, high = words[at], words[at + 4 * pitch]
                for tile in range(TILES):
                    c0, c1, c2, c3 = multiply_halves(
                        operand[tile, block, 0], operand[tile, block, 1],
                        operand[tile, block, 2], operand[tile, block, 3], low, high,
                        sums[tile, unit_tile, 0], sums[tile, unit_tile, 1],
                        sums[tile, unit_tile, 2], sums[tile, unit_tile, 3],
                    )  # fmt: skip
                    sums[tile, unit_tile, 0] = c0
                    sums[tile, unit_tile, 1] = c1
                    sums[tile, unit_tile, 2] = c2
                    sums[tile, unit_tile, 3] = c3

    return forward_product


def make_backward_product(unit_tiles, input_tiles, pitch):
    """sums = delta @ weights^T, for `unit_tiles` x 8 units and `input_tiles` x 8 inputs; bfloats."""
    blocks = max(1, unit_tiles // 2)
    half_a_block = unit_tiles == 1

    @cuda.jit(device=True)
    def backward_product(words, first, lane, operand, sums):
        unit, local_input = 2 * (lane & 3), lane >> 2
        odd = uint32(local_input & 1)
        for input_tile in range(input_tiles):
            for tile in range(TILES):
                for i in range(4):
                    sums[tile, input_tile, i] = float32(0)
            for block in range(blocks):
                # A word has two inputs and one unit, the product wants one input and two units.
                at = first + (4 * input_tile + (local_input >> 1)) * pitch + 16 * block + unit
                low = halves_to_bfloats(one_of_each(words[at], words[at + 1], odd))
                high = uint32(0)
                if not half_a_block:
                    high = halves_to_bfloats(
                        one_of_each(words[at + UNITS], words[at + UNITS + 1], odd)
                    )
                for tile in range(TILES):
                    c0, c1, c2, c3 = multiply_bfloats(
                        operand[tile, block, 0], operand[tile, block, 1],
                        operand[tile, block, 2], operand[tile, block, 3], low, high,
                        sums[tile, input_tile, 0], sums[tile, input_tile, 1],
                        sums[tile, input_tile, 2], sums[tile, input_tile, 3],
                    )  # fmt: skip
                    sums[tile, input_tile, 0] = c0
                    sums[tile, input_tile, 1] = c1
                    sums[tile, input_tile, 2] = c2
                    sums[tile, input_tile, 3] = c3

    return backward_product


def make_weight_gradient(input_blocks, unit_tiles, fan_out, warps):
    """gradient = activations^T @ delta over all samples of a block, shared out among its warps.

    Both factors come from shared memory, transposed (see `keep_transposed`), from the places
    `activations` and `deltas`, whoever put them there. The first tile of samples sets the
    gradient, later ones add to it.

    Neighbouring warps take neighbouring tiles of units; if there are more warps than such tiles,
    the rest share the inputs. A warp's next tile is then a constant distance away.
    """
    sample_blocks = warps * TILES
    warps_by_unit = min(warps, unit_tiles)
    warps_by_input = warps // warps_by_unit
    shift = warps_by_unit.bit_length() - 1
    input_rounds = (input_blocks + warps_by_input - 1) // warps_by_input
    always = input_blocks % warps_by_input == 0

    @cuda.jit(device=True)
    def product(transposed, inputs, delta, k, lane, c0, c1, c2, c3):
        return multiply_bfloats(
            transposed[inputs, k, lane, 0], transposed[inputs + 1, k, lane, 0],
            transposed[inputs, k, lane, 1], transposed[inputs + 1, k, lane, 1],
            transposed[delta, k, lane, 0], transposed[delta, k, lane, 1], c0, c1, c2, c3,
        )  # fmt: skip

    @cuda.jit(device=True)
    def tile(transposed, inputs, delta, lane, scale, gradient, at, begin):
        c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
        d0, d1, d2, d3 = float32(0), float32(0), float32(0), float32(0)
        # Two sums of every other block: a product waits for the one that it adds to.
        for k in range(0, sample_blocks, 2):
            c0, c1, c2, c3 = product(transposed, inputs, delta, k, lane, c0, c1, c2, c3)
            d0, d1, d2, d3 = product(transposed, inputs, delta, k + 1, lane, d0, d1, d2, d3)
        keep(gradient, at, scale * (c0 + d0), scale * (c1 + d1), begin)
        at += 8 * fan_out
        keep(gradient, at, scale * (c2 + d2), scale * (c3 + d3), begin)

    @cuda.jit(device=True)
    def weight_gradient(
        transposed, activations, deltas, warp, lane, scale, gradient, offset, begin
    ):
        warp_unit, warp_input = warp & (warps_by_unit - 1), warp >> shift
        at = offset + UNITS * warp_unit + 2 * (lane & 3)
        at = (at + (16 * warp_input + (lane >> 2)) * fan_out) & NOT_NEGATIVE
        for i in range(input_rounds):
            if always or warp_input + i * warps_by_input < input_blocks:
                for j in range(unit_tiles // warps_by_unit):
                    inputs = activations + 2 * (warp_input + i * warps_by_input)
                    delta = deltas + warp_unit + j * warps_by_unit
                    first = at + 16 * i * warps_by_input * fan_out + UNITS * j * warps_by_unit
                    tile(transposed, inputs, delta, lane, scale, gradient, first, begin)

    return weight_gradient


@cuda.jit(device=True)
def keep(gradient, at, left, right, begin):
    """Set two neighbouring elements, or add to them."""
    if not begin:
        left += gradient[at]
        right += gradient[at + 1]
    gradient[at] = left
    gradient[at + 1] = right


# ---------------------------------------------------------------- between the products


@cuda.jit(device=True)
def keep_transposed(transposed, unit_tile, sample_block, lane, upper, lower):
    """Put 16 samples x 8 units into shared memory, so that sums over samples can be formed.

    transposed: (unit tiles, sample blocks, 32 lanes, 2) uint32. What a lane stores is what a lane
    will load: neighbouring words, and no bank is met twice.
    """
    transposed[unit_tile, sample_block, lane, 0] = transpose_8x8(upper)
    transposed[unit_tile, sample_block, lane, 1] = transpose_8x8(lower)


def make_activate_only(unit_tiles):
    """ReLU: sums -> operand of the next layer."""

    @cuda.jit(device=True)
    def activate_only(sums, operand):
        for tile in range(TILES):
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = pack_open_halves(
                    sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                )
                operand[tile, block, side + 1] = pack_open_halves(
                    sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                )

    return activate_only


@cuda.jit(device=True)
def signs_where_open(word):
    """Both numbers of a word are zero or above; set the sign bits of those above zero."""
    return uint32(uint32(word + uint32(BELOW_SIGNS)) & uint32(SIGNS))


def make_activate(unit_tiles):
    """The same, and for the way back: a transposed copy, and which units are open.

    open_units: (layers, TILES, threads) uint32, two bits for each word of the operand.
    """

    @cuda.jit(device=True)
    def activate(sums, operand, open_units, layer, transposed, first, warp, lane):
        for tile in range(TILES):
            bits = uint32(0)
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                c0, c1 = sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                c2, c3 = sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                upper, lower = pack_open_halves(c0, c1), pack_open_halves(c2, c3)
                operand[tile, block, side] = upper
                operand[tile, block, side + 1] = lower
                bits |= signs_where_open(upper) >> uint32(2 * unit_tile)
                bits |= signs_where_open(lower) >> uint32(2 * unit_tile + 1)
                keep_transposed(
                    transposed, first + unit_tile, TILES * warp + tile, lane,
                    pack_open_bfloats(c0, c1), pack_open_bfloats(c2, c3),
                )  # fmt: skip
            open_units[layer, tile, WARP * warp + lane] = bits

    return activate


def make_mask(unit_tiles):
    """ReLU's derivative: gradient of activations -> delta, as operand and transposed copy."""

    @cuda.jit(device=True)
    def mask(sums, operand, open_units, layer, transposed, first, warp, lane):
        for tile in range(TILES):
            bits = open_units[layer, tile, WARP * warp + lane]
            for unit_tile in range(unit_tiles):
                upper = pack_bfloats(sums[tile, unit_tile, 0], sums[tile, unit_tile, 1])
                lower = pack_bfloats(sums[tile, unit_tile, 2], sums[tile, unit_tile, 3])
                upper &= mask_of_signs(uint32(bits << uint32(2 * unit_tile)))
                lower &= mask_of_signs(uint32(bits << uint32(2 * unit_tile + 1)))
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = upper
                operand[tile, block, side + 1] = lower
                keep_transposed(
                    transposed, first + unit_tile, TILES * warp + tile, lane, upper, lower
                )

    return mask
