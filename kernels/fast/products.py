"""Products on tensor cores, for a warp that takes 32 samples through a network.

A layer is `sums = operand @ weights`. The operand (samples x inputs) lies in registers, as A
fragments; so do the sums (samples x units), as C fragments. Packed to 16 bits, sums are the next
layer's operand. Weights are B fragments, loaded from shared memory just when they are needed.
See `ptx` for the layouts: lane 4 r + c has "row" r and "column" c.

New against `tensor_core_forward`: any size; the products of the backward pass; and the gradients
of weights, whose factors come from all warps of a block, transposed, through shared memory.

In shared memory a word holds the weights from two neighbouring inputs, 2 p and 2 p + 1, to one
unit: word p * pitch + unit. Rows are 8 words longer than there are units, so that the 4 x 8 words
that a warp reads at once lie in 32 different banks.

Loops here have constant ends, and are unrolled: only then are arrays of registers registers. So
each function is made for one size by a function around it. Two habits save instructions. Divisions
by 4 and 32 are shifts, because `//` and `%` also handle negative numbers. And thread numbers and
offsets are masked (`& 127`, `& NOT_NEGATIVE`): Numba checks signed indices for negative values,
which count from the end; a mask leaves the value as it is, and the compiler can drop the check.

Around the network one thread is one sample: it knows the sample's features and its colour. Inside,
a sample's numbers are spread over the lanes of a warp. Two arrays in shared memory lie between the
two, one row per sample: `rows` (samples, FEATURE_PITCH) uint32 holds features as halves and the
deltas of the outputs as bfloat16, two per word; `staging` (samples, size.columns) float32 holds
what leaves the network. The lanes that read a row belong to the warp that has written it, so
`syncwarp` is enough between the two.
"""

from collections import namedtuple
from functools import cache

from numba import cuda, float32, uint32

from kernels.config import OUTPUTS
from kernels.fast.ptx import (
    halves_to_bfloat16,
    mask_of_signs,
    multiply_bfloat16,
    multiply_halves,
    pack_bfloat16,
    pack_relu_bfloat16,
    pack_relu_halves,
    select_16_bits,
    transpose_8x8,
)
from kernels.fast.sizes import FEATURE_WORDS, K_BLOCK, SAMPLE_TILES, TILE_UNITS, USED_OUTPUTS, WARP
from kernels.field_math import sigmoid

NOT_NEGATIVE = 0x7FFFFFFF
SIGNS, BELOW_SIGNS = 0x80008000, 0x7FFF7FFF  # of both 16-bit numbers in a word

# Device functions for the first matrix, those between hidden layers, and the last.
Products = namedtuple("Products", "first middle last")


@cache
def make_forward_products(size):
    """`Products` that compute sums = operand @ weights. size: `NetworkSize`."""
    return Products(
        make_forward_product(1, size.unit_tiles, size.pitch),
        make_forward_product(size.k_blocks, size.unit_tiles, size.pitch),
        make_forward_product(size.k_blocks, 1, USED_OUTPUTS),
    )


@cache
def make_backward_products(size):
    """`Products` that compute sums = delta @ weights^T; the first only for eight features."""
    return Products(
        make_backward_product(size.unit_tiles, 1, size.pitch),
        make_backward_product(size.unit_tiles, size.unit_tiles, size.pitch),
        make_backward_product(1, size.unit_tiles, USED_OUTPUTS),
    )


# ---------------------------------------------------------------- samples times weights


@cuda.jit(device=True)
def clear_column(sums, column):
    for tile in range(SAMPLE_TILES):
        for i in range(4):
            sums[tile, column, i] = float32(0)


def make_add_products(multiply):
    @cuda.jit(device=True)
    def add_products(operand, block, low, high, sums, column):
        """sums[:, column] += operand[:, block] @ (low, high), for all tiles of samples."""
        for tile in range(SAMPLE_TILES):
            c0, c1, c2, c3 = multiply(
                operand[tile, block, 0], operand[tile, block, 1],
                operand[tile, block, 2], operand[tile, block, 3], low, high,
                sums[tile, column, 0], sums[tile, column, 1],
                sums[tile, column, 2], sums[tile, column, 3],
            )  # fmt: skip
            sums[tile, column, 0], sums[tile, column, 1] = c0, c1
            sums[tile, column, 2], sums[tile, column, 3] = c2, c3

    return add_products


add_halves, add_bfloat16 = make_add_products(multiply_halves), make_add_products(multiply_bfloat16)


def make_forward_product(k_blocks, unit_tiles, pitch):
    """sums = operand @ weights, for `k_blocks` x 16 inputs and `unit_tiles` x 8 units; halves."""

    @cuda.jit(device=True)
    def forward_product(words, first, lane, operand, sums):
        """words: shared weights, this matrix from `first` on. operand, sums: the lane's own."""
        pair, unit = lane & 3, lane >> 2
        for unit_tile in range(unit_tiles):
            clear_column(sums, unit_tile)
            for block in range(k_blocks):
                word = first + (8 * block + pair) * pitch + TILE_UNITS * unit_tile + unit
                low, high = words[word], words[word + 4 * pitch]
                add_halves(operand, block, low, high, sums, unit_tile)

    return forward_product


def make_backward_product(unit_tiles, input_tiles, pitch):
    """sums = delta @ weights^T, for `unit_tiles` x 8 units, `input_tiles` x 8 inputs; bfloat16."""
    k_blocks = max(1, unit_tiles // 2)
    half_a_block = unit_tiles == 1

    @cuda.jit(device=True)
    def backward_product(words, first, lane, operand, sums):
        unit, local_input = 2 * (lane & 3), lane >> 2
        odd = uint32(local_input & 1)
        for input_tile in range(input_tiles):
            clear_column(sums, input_tile)
            for block in range(k_blocks):
                # A word has two inputs and one unit, the product wants one input and two units.
                word = first + (4 * input_tile + (local_input >> 1)) * pitch
                word += K_BLOCK * block + unit
                low = halves_to_bfloat16(select_16_bits(words[word], words[word + 1], odd))
                high = uint32(0)
                if not half_a_block:
                    word += TILE_UNITS
                    high = halves_to_bfloat16(select_16_bits(words[word], words[word + 1], odd))
                add_bfloat16(operand, block, low, high, sums, input_tile)

    return backward_product


# ---------------------------------------------------------------- sums over samples


@cuda.jit(device=True)
def store_transposed(transposed, unit_tile, sample_block, lane, upper, lower):
    """Put 16 samples x 8 units into shared memory, so that sums over samples can be formed.

    transposed: (unit tiles, sample blocks, 32 lanes, 2) uint32. What a lane stores is what a lane
    will load: neighbouring words, and no bank is met twice.
    """
    transposed[unit_tile, sample_block, lane, 0] = transpose_8x8(upper)
    transposed[unit_tile, sample_block, lane, 1] = transpose_8x8(lower)


@cuda.jit(device=True)
def multiply_transposed(transposed, left, right, k, lane, c0, c1, c2, c3):
    """C + left^T @ right over 16 samples, block `k`: 16 rows x 8 columns, from tile numbers."""
    return multiply_bfloat16(
        transposed[left, k, lane, 0], transposed[left + 1, k, lane, 0],
        transposed[left, k, lane, 1], transposed[left + 1, k, lane, 1],
        transposed[right, k, lane, 0], transposed[right, k, lane, 1], c0, c1, c2, c3,
    )  # fmt: skip


@cache
def make_sum_over_samples(sample_blocks, multiply):
    """C + left^T @ right over all samples of a block; multiply: as `multiply_transposed`."""

    @cuda.jit(device=True)
    def sum_over_samples(transposed, left, right, lane, c0, c1, c2, c3):
        d0, d1, d2, d3 = float32(0), float32(0), float32(0), float32(0)
        # Two sums of every other block: a product waits for the one that it adds to.
        for k in range(0, sample_blocks, 2):
            c0, c1, c2, c3 = multiply(transposed, left, right, k, lane, c0, c1, c2, c3)
            d0, d1, d2, d3 = multiply(transposed, left, right, k + 1, lane, d0, d1, d2, d3)
        return c0 + d0, c1 + d1, c2 + d2, c3 + d3

    return sum_over_samples


# Of one matrix: how many sums a lane keeps, and device functions.
WeightGradient = namedtuple("WeightGradient", "floats add write")


def make_weight_gradient(input_blocks, unit_tiles, fan_out, warps):
    """gradient = activations^T @ delta over all samples of a block, divided among its warps.

    Both factors come from shared memory, transposed (see `store_transposed`), from the tiles
    `activations` and `deltas` on. The sums stay in registers from one tile of samples to the next,
    and are written after the last.

    Neighbouring warps take neighbouring tiles of units; if there are more warps than such tiles,
    the rest divide the inputs. A warp's next tile is then a constant distance away.
    """
    warps_by_unit = min(warps, unit_tiles)
    warps_by_input = warps // warps_by_unit
    shift = warps_by_unit.bit_length() - 1
    unit_rounds = unit_tiles // warps_by_unit
    input_rounds = (input_blocks + warps_by_input - 1) // warps_by_input
    divides_evenly = input_blocks % warps_by_input == 0
    sum_over_samples = make_sum_over_samples(warps * SAMPLE_TILES, multiply_transposed)

    @cuda.jit(device=True)
    def add(transposed, activations, deltas, warp, lane, sums, first):
        """sums: float32, this matrix's from `first` on."""
        warp_unit, warp_input = warp & (warps_by_unit - 1), warp >> shift
        for i in range(input_rounds):
            if divides_evenly or warp_input + i * warps_by_input < input_blocks:
                for j in range(unit_rounds):
                    inputs = activations + 2 * (warp_input + i * warps_by_input)
                    delta = deltas + warp_unit + j * warps_by_unit
                    n = first + 4 * (i * unit_rounds + j)
                    sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = sum_over_samples(
                        transposed, inputs, delta, lane,
                        sums[n], sums[n + 1], sums[n + 2], sums[n + 3],
                    )  # fmt: skip

    @cuda.jit(device=True)
    def write(sums, first, warp, lane, scale, gradient, offset):
        """gradient: float32, this matrix from `offset` on; is set to the sums times `scale`."""
        warp_unit, warp_input = warp & (warps_by_unit - 1), warp >> shift
        offset = offset + TILE_UNITS * warp_unit + 2 * (lane & 3)
        offset = (offset + (K_BLOCK * warp_input + (lane >> 2)) * fan_out) & NOT_NEGATIVE
        for i in range(input_rounds):
            if divides_evenly or warp_input + i * warps_by_input < input_blocks:
                for j in range(unit_rounds):
                    n = first + 4 * (i * unit_rounds + j)
                    at = offset + K_BLOCK * i * warps_by_input * fan_out
                    at += TILE_UNITS * j * warps_by_unit
                    gradient[at], gradient[at + 1] = scale * sums[n], scale * sums[n + 1]
                    gradient[at + 8 * fan_out] = scale * sums[n + 2]
                    gradient[at + 8 * fan_out + 1] = scale * sums[n + 3]

    return WeightGradient(4 * input_rounds * unit_rounds, add, write)


# Of all matrices: how many sums a lane keeps, and device functions.
WeightGradients = namedtuple("WeightGradients", "floats add_first add_middle add_last write")


@cache
def make_weight_gradients(size):
    """`WeightGradients`, over all samples of a block. size: `NetworkSize`."""
    layers, first_weights, middle_weights = size.layers, size.first_weights, size.middle_weights
    weights_before_last = size.weights_before_last
    first = make_weight_gradient(1, size.unit_tiles, size.hidden, size.warps)
    middle = make_weight_gradient(size.k_blocks, size.unit_tiles, size.hidden, size.warps)
    last = make_weight_gradient(size.k_blocks, 1, OUTPUTS, size.warps)
    first_last = first.floats + (layers - 1) * middle.floats

    @cuda.jit(device=True)
    def add_first(transposed, activations, deltas, warp, lane, sums):
        first.add(transposed, activations, deltas, warp, lane, sums, 0)

    @cuda.jit(device=True)
    def add_middle(layer, transposed, activations, deltas, warp, lane, sums):
        """Of the weights into hidden layer `layer`, from 1."""
        n = first.floats + (layer - 1) * middle.floats
        middle.add(transposed, activations, deltas, warp, lane, sums, n)

    @cuda.jit(device=True)
    def add_last(transposed, activations, deltas, warp, lane, sums):
        last.add(transposed, activations, deltas, warp, lane, sums, first_last)

    @cuda.jit(device=True)
    def write(sums, warp, lane, scale, gradient, base):
        """Write all sums, times `scale`, to gradient, float32, from `base` on."""
        first.write(sums, 0, warp, lane, scale, gradient, base)
        for layer in range(1, layers):
            n = first.floats + (layer - 1) * middle.floats
            offset = base + first_weights + (layer - 1) * middle_weights
            middle.write(sums, n, warp, lane, scale, gradient, offset)
        last.write(sums, first_last, warp, lane, scale, gradient, base + weights_before_last)

    return WeightGradients(first_last + last.floats, add_first, add_middle, add_last, write)


# ---------------------------------------------------------------- between two products


@cuda.jit(device=True)
def signs_where_positive(word):
    """Both numbers of a word are zero or above; set the sign bits of those above zero."""
    return uint32(uint32(word + uint32(BELOW_SIGNS)) & uint32(SIGNS))


Relu = namedtuple("Relu", "apply apply_and_store backward")


@cache
def make_relu(unit_tiles):
    """`Relu`: device functions from the sums of one product to the operand of the next.

    Nothing moves between lanes: packed to 16 bits, the C fragments of two neighbouring tiles of
    units are the A fragment of 16 inputs. The instruction that packs takes the ReLU along.
    """

    @cuda.jit(device=True)
    def apply(sums, operand):
        for tile in range(SAMPLE_TILES):
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = pack_relu_halves(
                    sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                )
                operand[tile, block, side + 1] = pack_relu_halves(
                    sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                )

    @cuda.jit(device=True)
    def apply_and_store(sums, operand, relu_masks, layer, transposed, first, warp, lane):
        """Store what the backward pass needs, too: a transposed copy, and the ReLU mask.

        relu_masks: (layers, SAMPLE_TILES, threads) uint32, two bits for each word of the operand:
        1 where a sum was above zero.
        """
        for tile in range(SAMPLE_TILES):
            bits = uint32(0)
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                c0, c1 = sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                c2, c3 = sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                upper, lower = pack_relu_halves(c0, c1), pack_relu_halves(c2, c3)
                operand[tile, block, side], operand[tile, block, side + 1] = upper, lower
                bits |= signs_where_positive(upper) >> uint32(2 * unit_tile)
                bits |= signs_where_positive(lower) >> uint32(2 * unit_tile + 1)
                store_transposed(
                    transposed, first + unit_tile, SAMPLE_TILES * warp + tile, lane,
                    pack_relu_bfloat16(c0, c1), pack_relu_bfloat16(c2, c3),
                )  # fmt: skip
            relu_masks[layer, tile, WARP * warp + lane] = bits

    @cuda.jit(device=True)
    def backward(sums, operand, relu_masks, layer, transposed, first, warp, lane):
        """Gradients of activations -> deltas, as operand and as transposed copy."""
        for tile in range(SAMPLE_TILES):
            bits = relu_masks[layer, tile, WARP * warp + lane]
            for unit_tile in range(unit_tiles):
                upper = pack_bfloat16(sums[tile, unit_tile, 0], sums[tile, unit_tile, 1])
                lower = pack_bfloat16(sums[tile, unit_tile, 2], sums[tile, unit_tile, 3])
                upper &= mask_of_signs(uint32(bits << uint32(2 * unit_tile)))
                lower &= mask_of_signs(uint32(bits << uint32(2 * unit_tile + 1)))
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side], operand[tile, block, side + 1] = upper, lower
                store_transposed(
                    transposed, first + unit_tile, SAMPLE_TILES * warp + tile, lane, upper, lower
                )

    return Relu(apply, apply_and_store, backward)


# ---------------------------------------------------------------- between threads and fragments


@cuda.jit(device=True)
def load_features(rows, operand, warp, lane):
    """Rows of features, one per sample -> operand of the first layer."""
    row, column = lane >> 2, lane & 3
    for tile in range(SAMPLE_TILES):
        sample = WARP * warp + 16 * tile + row
        for side in range(2):
            operand[tile, 0, 2 * side] = rows[sample, 4 * side + column]
            operand[tile, 0, 2 * side + 1] = rows[sample + 8, 4 * side + column]


@cuda.jit(device=True)
def transpose_features(operand, transposed, warp, lane):
    """Store the transposed copy of the features, as bfloat16."""
    for tile in range(SAMPLE_TILES):
        for side in range(2):
            upper = halves_to_bfloat16(operand[tile, 0, 2 * side])
            lower = halves_to_bfloat16(operand[tile, 0, 2 * side + 1])
            store_transposed(transposed, side, SAMPLE_TILES * warp + tile, lane, upper, lower)


@cache
def make_store_columns(columns):
    """columns: 3 for colours, or as many as the grid has channels."""

    @cuda.jit(device=True)
    def store_columns(sums, staging, warp, lane):
        """The first columns of the sums, from fragments to one row per sample."""
        row, first_column = lane >> 2, 2 * (lane & 3)
        if first_column >= columns:
            return
        for tile in range(SAMPLE_TILES):
            sample = WARP * warp + 16 * tile + row
            staging[sample, first_column] = sums[tile, 0, 0]
            staging[sample + 8, first_column] = sums[tile, 0, 2]
            if first_column + 1 < columns:
                staging[sample, first_column + 1] = sums[tile, 0, 1]
                staging[sample + 8, first_column + 1] = sums[tile, 0, 3]

    return store_columns


@cuda.jit(device=True)
def store_output_delta(staging, thread, target, inside, rows):
    """Sigmoid, error and their derivative, one thread per sample.

    The factor 2 / (3 B) is left to the end: without it deltas are of a size that 16 bits
    represent well. Packs them behind the sample's features; returns the sum of squared errors.
    """
    if not inside:
        rows[thread, FEATURE_WORDS], rows[thread, FEATURE_WORDS + 1] = uint32(0), uint32(0)
        return float32(0)
    red, green, blue = (
        sigmoid(staging[thread, 0]), sigmoid(staging[thread, 1]), sigmoid(staging[thread, 2]),
    )  # fmt: skip
    red_error, green_error, blue_error = red - target[0], green - target[1], blue - target[2]
    one = float32(1)
    rows[thread, FEATURE_WORDS] = pack_bfloat16(
        red_error * red * (one - red), green_error * green * (one - green)
    )
    rows[thread, FEATURE_WORDS + 1] = pack_bfloat16(blue_error * blue * (one - blue), float32(0))
    return red_error * red_error + green_error * green_error + blue_error * blue_error


@cuda.jit(device=True)
def load_output_delta(rows, operand, transposed, unit_tile, warp, lane):
    """Rows of deltas -> operand of the backward pass (columns 3 to 15 are zero), and a copy."""
    row, column = lane >> 2, lane & 3
    for tile in range(SAMPLE_TILES):
        sample = WARP * warp + 16 * tile + row
        upper, lower = uint32(0), uint32(0)
        if column < 2:
            upper = rows[sample, FEATURE_WORDS + column]
            lower = rows[sample + 8, FEATURE_WORDS + column]
        operand[tile, 0, 0], operand[tile, 0, 1] = upper, lower
        operand[tile, 0, 2], operand[tile, 0, 3] = uint32(0), uint32(0)
        store_transposed(transposed, unit_tile, SAMPLE_TILES * warp + tile, lane, upper, lower)
