"""Products on tensor cores, for a warp that takes 32 samples through a network.

A layer is `sums = operand @ weights`. The operand (samples x inputs) lies in registers, as A
fragments; so do the sums (samples x units), as C fragments. Packed to 16 bits, sums are the next
layer's operand. Weights are B fragments, loaded from shared memory just when they are needed.
See `ptx` for the layouts: lane 4 r + c has "row" r and "column" c. `tensor_core_forward` does the
same for one fixed size, in one place.

In shared memory a word holds the weights from two neighbouring inputs, 2 p and 2 p + 1, to one
unit: word p * pitch + unit. Rows are 8 words longer than there are units, so that the 4 x 8 words
that a warp reads at once lie in 32 different banks.

Loops here have constant ends, and are unrolled: only then are arrays of registers registers. So
each function is made for one size by a function around it. Two habits save instructions. Divisions
by 4 and 32 are shifts, because `//` and `%` also handle negative numbers. And thread numbers and
offsets are masked (`& 127`, `& NOT_NEGATIVE`): Numba checks signed indices for negative values,
which count from the end; a mask leaves the value as it is, and the compiler can drop the check.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.config import OUTPUTS
from kernels.fast.ptx import (
    halves_to_bfloat16,
    multiply_bfloat16,
    multiply_halves,
    select_16_bits,
    transpose_8x8,
)
from kernels.fast.sizes import K_BLOCK, SAMPLE_TILES, TILE_UNITS, USED_OUTPUTS

NOT_NEGATIVE = 0x7FFFFFFF


class Products(NamedTuple):
    """One kind of product, for the first matrix, those between hidden layers, and the last."""

    first: Callable
    middle: Callable
    last: Callable


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


def make_forward_product(k_blocks, unit_tiles, pitch):
    """sums = operand @ weights, for `k_blocks` x 16 inputs and `unit_tiles` x 8 units; halves."""

    @cuda.jit(device=True)
    def forward_product(words, first, lane, operand, sums):
        """words: shared weights, this matrix from `first` on. operand, sums: the lane's own."""
        pair, unit = lane & 3, lane >> 2
        for unit_tile in range(unit_tiles):
            for tile in range(SAMPLE_TILES):
                for i in range(4):
                    sums[tile, unit_tile, i] = float32(0)
            for block in range(k_blocks):
                word = first + (8 * block + pair) * pitch + TILE_UNITS * unit_tile + unit
                low, high = words[word], words[word + 4 * pitch]
                for tile in range(SAMPLE_TILES):
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
    """sums = delta @ weights^T, for `unit_tiles` x 8 units, `input_tiles` x 8 inputs; bfloat16."""
    k_blocks = max(1, unit_tiles // 2)
    half_a_block = unit_tiles == 1

    @cuda.jit(device=True)
    def backward_product(words, first, lane, operand, sums):
        unit, local_input = 2 * (lane & 3), lane >> 2
        odd = uint32(local_input & 1)
        for input_tile in range(input_tiles):
            for tile in range(SAMPLE_TILES):
                for i in range(4):
                    sums[tile, input_tile, i] = float32(0)
            for block in range(k_blocks):
                # A word has two inputs and one unit, the product wants one input and two units.
                word = first + (4 * input_tile + (local_input >> 1)) * pitch
                word += K_BLOCK * block + unit
                low = halves_to_bfloat16(select_16_bits(words[word], words[word + 1], odd))
                high = uint32(0)
                if not half_a_block:
                    word += TILE_UNITS
                    high = halves_to_bfloat16(select_16_bits(words[word], words[word + 1], odd))
                for tile in range(SAMPLE_TILES):
                    c0, c1, c2, c3 = multiply_bfloat16(
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
def multiply_transposed(transposed, inputs, delta, k, lane, c0, c1, c2, c3):
    """C + activations^T @ delta over 16 samples, block `k`, for 16 inputs and 8 units."""
    return multiply_bfloat16(
        transposed[inputs, k, lane, 0], transposed[inputs + 1, k, lane, 0],
        transposed[inputs, k, lane, 1], transposed[inputs + 1, k, lane, 1],
        transposed[delta, k, lane, 0], transposed[delta, k, lane, 1], c0, c1, c2, c3,
    )  # fmt: skip


class WeightGradient(NamedTuple):
    """Of one matrix: how many sums a lane keeps, and device functions."""

    floats: int
    add: Callable
    write: Callable


def make_weight_gradient(input_blocks, unit_tiles, fan_out, warps):
    """gradient = activations^T @ delta over all samples of a block, divided among its warps.

    Both factors come from shared memory, transposed (see `store_transposed`), from the tiles
    `activations` and `deltas` on, whichever warps stored them there. The sums stay in registers
    from one tile of samples to the next, and are written after the last.

    Neighbouring warps take neighbouring tiles of units; if there are more warps than such tiles,
    the rest divide the inputs. A warp's next tile is then a constant distance away.
    """
    sample_blocks = warps * SAMPLE_TILES
    warps_by_unit = min(warps, unit_tiles)
    warps_by_input = warps // warps_by_unit
    shift = warps_by_unit.bit_length() - 1
    unit_rounds = unit_tiles // warps_by_unit
    input_rounds = (input_blocks + warps_by_input - 1) // warps_by_input
    divides_evenly = input_blocks % warps_by_input == 0

    @cuda.jit(device=True)
    def add_tile(transposed, inputs, delta, lane, sums, n):
        """16 inputs x 8 units."""
        c0, c1, c2, c3 = sums[n], sums[n + 1], sums[n + 2], sums[n + 3]
        d0, d1, d2, d3 = float32(0), float32(0), float32(0), float32(0)
        # Two sums of every other block: a product waits for the one that it adds to.
        for k in range(0, sample_blocks, 2):
            c0, c1, c2, c3 = multiply_transposed(transposed, inputs, delta, k, lane, c0, c1, c2, c3)
            d0, d1, d2, d3 = multiply_transposed(
                transposed, inputs, delta, k + 1, lane, d0, d1, d2, d3
            )
        sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = c0 + d0, c1 + d1, c2 + d2, c3 + d3

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
                    add_tile(transposed, inputs, delta, lane, sums, n)

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
                    gradient[at] = scale * sums[n]
                    gradient[at + 1] = scale * sums[n + 1]
                    gradient[at + 8 * fan_out] = scale * sums[n + 2]
                    gradient[at + 8 * fan_out + 1] = scale * sums[n + 3]

    return WeightGradient(4 * input_rounds * unit_rounds, add, write)


class WeightGradients(NamedTuple):
    """Of all matrices. `floats`: sums that a lane keeps."""

    floats: int
    add_first: Callable
    add_middle: Callable
    add_last: Callable
    write: Callable


@cache
def make_weight_gradients(size):
    """`WeightGradients`, over all samples of a block. size: `NetworkSize`."""
    layers, first_weights, middle_weights = size.layers, size.first_weights, size.middle_weights
    weights_before_last = size.weights_before_last
    first = make_weight_gradient(1, size.unit_tiles, size.hidden, size.warps)
    middle = make_weight_gradient(size.k_blocks, size.unit_tiles, size.hidden, size.warps)
    last = make_weight_gradient(size.k_blocks, 1, OUTPUTS, size.warps)
    first_middle, middle_floats = first.floats, middle.floats
    first_last = first_middle + (layers - 1) * middle_floats
    tiles_first, tiles_middle, tiles_last = first.add, middle.add, last.add
    write_first, write_middle, write_last = first.write, middle.write, last.write

    @cuda.jit(device=True)
    def add_first(transposed, activations, deltas, warp, lane, sums):
        tiles_first(transposed, activations, deltas, warp, lane, sums, 0)

    @cuda.jit(device=True)
    def add_middle(layer, transposed, activations, deltas, warp, lane, sums):
        """Of the weights into hidden layer `layer`, from 1."""
        n = first_middle + (layer - 1) * middle_floats
        tiles_middle(transposed, activations, deltas, warp, lane, sums, n)

    @cuda.jit(device=True)
    def add_last(transposed, activations, deltas, warp, lane, sums):
        tiles_last(transposed, activations, deltas, warp, lane, sums, first_last)

    @cuda.jit(device=True)
    def write(sums, warp, lane, scale, gradient, base):
        """Write all sums, times `scale`, to gradient, float32, from `base` on."""
        write_first(sums, 0, warp, lane, scale, gradient, base)
        for layer in range(1, layers):
            n = first_middle + (layer - 1) * middle_floats
            offset = base + first_weights + (layer - 1) * middle_weights
            write_middle(sums, n, warp, lane, scale, gradient, offset)
        write_last(sums, first_last, warp, lane, scale, gradient, base + weights_before_last)

    return WeightGradients(first_last + last.floats, add_first, add_middle, add_last, write)
