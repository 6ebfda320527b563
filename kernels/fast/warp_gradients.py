"""Gradients of weights that stay in a warp's registers, from sample to sample.

    deltas, activations of 16 samples (operands in registers)  ->  added to the sums of the warp

The gradient of a matrix is activations^T @ deltas, a sum over samples. So both factors are needed
the other way round: with pairs of neighbouring samples in a word, not of neighbouring units. One
instruction turns 8 x 8 numbers round between the lanes of a warp (see `ptx`), and a warp needs
neither shared memory nor any other warp for it.

A network of two layers of 32 units has 56 such sums per lane. They are added up once per step,
after all samples: warp after warp in shared memory, in an order that never changes.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.fast.ptx import halves_to_bfloat16, multiply_bfloat16, transpose_8x8
from kernels.fast.sizes import FEATURE_TILES
from kernels.fast.weight_tiles import make_weight_of, tile_numbers

TILE_FLOATS = 4  # sums of a lane per tile of 16 units x 8 inputs
OUTPUT_FLOATS = 2  # per tile of 8 outputs x 8 inputs
BUFFERS = 2  # of sums in shared memory: so many warps of a block add theirs at the same time


class WarpGradients(NamedTuple):
    """Device functions for one size of network. `floats`: sums that a lane keeps."""

    floats: int
    add_first: Callable
    add_middle: Callable
    add_last: Callable
    write: Callable


def gradient_floats(hidden, layers):
    numbers = tile_numbers(hidden, layers)
    return TILE_FLOATS * numbers.first_last + OUTPUT_FLOATS * (numbers.tiles - numbers.first_last)


def make_add_tiles(unit_blocks, inputs):
    """sums += deltas^T @ activations, for `unit_blocks` x 16 units and `inputs` x 8 inputs."""
    turned_words = 2 * inputs

    @cuda.jit(device=True)
    def add_tiles(deltas, activations, first_activation, sums, first):
        """deltas: operand of the way back. activations: words of halves, from the first on."""
        turned = cuda.local.array(turned_words, uint32)
        for i in range(turned_words):
            turned[i] = transpose_8x8(halves_to_bfloat16(activations[first_activation + i]))
        for block in range(unit_blocks):
            w = 4 * block
            a0, a1 = transpose_8x8(deltas[w]), transpose_8x8(deltas[w + 2])
            a2, a3 = transpose_8x8(deltas[w + 1]), transpose_8x8(deltas[w + 3])
            for part in range(inputs):
                n = first + TILE_FLOATS * (block * inputs + part)
                c0, c1, c2, c3 = multiply_bfloat16(
                    a0, a1, a2, a3, turned[2 * part], turned[2 * part + 1],
                    sums[n], sums[n + 1], sums[n + 2], sums[n + 3],
                )  # fmt: skip
                sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = c0, c1, c2, c3

    return add_tiles


def make_add_outputs(inputs):
    """The same for the outputs: half a block of units."""

    @cuda.jit(device=True)
    def add_outputs(upper, lower, activations, first_activation, sums, first):
        a0, a2, none, zero = transpose_8x8(upper), transpose_8x8(lower), uint32(0), float32(0)
        for part in range(inputs):
            at, n = first_activation + 2 * part, first + OUTPUT_FLOATS * part
            b0 = transpose_8x8(halves_to_bfloat16(activations[at]))
            b1 = transpose_8x8(halves_to_bfloat16(activations[at + 1]))
            sums[n], sums[n + 1], _, _ = multiply_bfloat16(
                a0, none, a2, none, b0, b1, sums[n], sums[n + 1], zero, zero
            )

    return add_outputs


@cache
def make_warp_gradients(hidden, layers, warps):
    """`WarpGradients` for blocks of `warps` warps."""
    unit_tiles, unit_blocks = hidden // 8, hidden // 16
    numbers, floats = tile_numbers(hidden, layers), gradient_floats(hidden, layers)
    first_middle, middle = TILE_FLOATS * numbers.first_middle, TILE_FLOATS * numbers.middle
    first_last = TILE_FLOATS * numbers.first_last
    tiles_first = make_add_tiles(unit_blocks, FEATURE_TILES)
    tiles_middle = make_add_tiles(unit_blocks, unit_tiles)
    outputs = make_add_outputs(unit_tiles)
    weight_of = make_weight_of(hidden, layers)
    shift, turns = BUFFERS.bit_length() - 1, warps // BUFFERS
    rounds = (numbers.tiles + warps - 1) // warps

    @cuda.jit(device=True)
    def add_first(deltas, features, sums):
        tiles_first(deltas, features, 0, sums, 0)

    @cuda.jit(device=True)
    def add_middle(layer, deltas, activations, first_activation, sums):
        """Of the weights into hidden layer `layer`, from 1."""
        first = first_middle + (layer - 1) * middle
        tiles_middle(deltas, activations, first_activation, sums, first)

    @cuda.jit(device=True)
    def add_last(upper, lower, activations, first_activation, sums):
        outputs(upper, lower, activations, first_activation, sums, first_last)

    @cuda.jit(device=True)
    def add_up(sums, warp, lane, all_sums):
        """Add the warps' sums in shared memory: those of one buffer one after another."""
        for turn in range(turns):
            if warp >> shift == turn:
                buffer = warp & (BUFFERS - 1)
                for four in range(floats // 4):
                    for one in range(4):
                        before = float32(0) if turn == 0 else all_sums[buffer, four, lane, one]
                        all_sums[buffer, four, lane, one] = before + sums[4 * four + one]
            # One warp after the other.
            cuda.syncthreads()

    @cuda.jit(device=True)
    def sum_of_buffers(all_sums, n, lane):
        total = all_sums[0, n >> 2, lane, n & 3]
        for buffer in range(1, BUFFERS):
            total += all_sums[buffer, n >> 2, lane, n & 3]
        return total

    @cuda.jit(device=True)
    def write(sums, scale, warp, lane, all_sums, grad_weights, base):
        """Write the sums of all warps, times `scale`, to the block's row, from `base` on.

        all_sums: (BUFFERS, floats / 4, 32 lanes, 4) float32 in shared memory.
        """
        add_up(sums, warp, lane, all_sums)
        for n in range(rounds):
            tile = warp + n * warps
            if tile < numbers.tiles:
                place, distance = weight_of(tile, lane)
                outputs = tile >= numbers.first_last
                first = TILE_FLOATS * tile
                if outputs:
                    first = first_last + OUTPUT_FLOATS * (tile - numbers.first_last)
                for j in range(TILE_FLOATS):
                    if j < OUTPUT_FLOATS or not outputs:
                        at = base + place + (j & 1) * distance + (j >> 1) * 8
                        grad_weights[at] = scale * sum_of_buffers(all_sums, first + j, lane)

    return WarpGradients(floats, add_first, add_middle, add_last, write)
