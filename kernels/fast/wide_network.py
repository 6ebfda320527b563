"""A wide network for a block in which every warp owns 16 units of each hidden layer.

    features of 32 samples  ->  all gradients

The idea: the weights of a network of 128 units do not fit into a warp's registers, nor twice into
shared memory. But each of eight warps can hold those of its own 16 units, and the sums of their
gradients, from the first sample of a step to the last. What travels between warps is activations
and deltas. They go through shared memory as they are: the sums of 16 units, packed, are just what
a lane needs of 16 inputs of the next product (see `tensor_core_forward`). So a warp writes its 16
bytes per lane, and reads those of all warps, in the same layout.

Samples come in groups of 16. What a thread keeps is in local arrays of one dimension, all indices
constant:

    weights   words: own units' inputs, forward as halves; own inputs' units, backward as bfloat16
    sums      float32: of the gradients of own weights, in tiles of 16 units x 8 inputs
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.config import FEATURES, OUTPUTS
from kernels.fast.ptx import (
    halves_to_bfloat16,
    mask_of_positive_halves,
    multiply_bfloat16,
    multiply_halves,
    pack_bfloat16,
    pack_halves,
    pack_relu_halves,
    transpose_8x8,
)
from kernels.fast.sizes import FEATURE_TILES
from kernels.fast.warp_gradients import OUTPUT_FLOATS, TILE_FLOATS

UNITS = 16  # of a layer per warp: two tiles of products, and one block of the next one's inputs
GROUPS = 2  # of 16 samples that a block takes at once
WORDS = 4  # that a lane has of 16 samples x 16 units
TILE_WORDS = 2  # of a tile of weights: 16 inputs x 8 units


class WideNetwork(NamedTuple):
    """Device functions for one size of network; how many numbers a thread keeps."""

    weight_words: int
    floats: int
    load_weights: Callable
    forward_first: Callable
    forward_middle: Callable
    forward_last: Callable
    backward_last: Callable
    backward_middle: Callable
    backward_first: Callable
    gradient_first: Callable
    gradient_middle: Callable
    write: Callable


@cuda.jit(device=True)
def relu_to(sums, words):
    """Two tiles of sums -> four words of halves."""
    for n in range(WORDS):
        words[n] = pack_relu_halves(sums[2 * n], sums[2 * n + 1])


@cuda.jit(device=True)
def mask_to(sums, activations, words):
    """ReLU's derivative: two tiles of sums -> four words of bfloat16."""
    for n in range(WORDS):
        delta = pack_bfloat16(sums[2 * n], sums[2 * n + 1])
        words[n] = delta & mask_of_positive_halves(activations[n])


@cuda.jit(device=True)
def write_words(board, group, warp, lane, words):
    """Put a lane's four words where the other warps read them."""
    for n in range(WORDS):
        board[group, warp, lane, n] = words[n]


@cuda.jit(device=True)
def read_own_words(board, group, warp, lane, words):
    """What this lane has written: on the board it needs no registers meanwhile."""
    for n in range(WORDS):
        words[n] = board[group, warp, lane, n]


@cuda.jit(device=True)
def write_transposed(board, group, warp, lane, words):
    """As `write_words`, for sums over samples: bfloat16, a pair of samples per word."""
    for n in range(WORDS):
        board[group, warp, lane, n] = transpose_8x8(halves_to_bfloat16(words[n]))


@cuda.jit(device=True)
def add_tile(a0, a1, a2, a3, b0, b1, sums, n):
    sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = multiply_bfloat16(
        a0, a1, a2, a3, b0, b1, sums[n], sums[n + 1], sums[n + 2], sums[n + 3]
    )


@cache
def make_wide_network(hidden, layers):
    """`WideNetwork` for 1 or 2 layers of `hidden` units, a multiple of 16."""
    blocks = hidden // UNITS
    middles = layers - 1
    matrix_words = 2 * TILE_WORDS * blocks
    first_words = 2 * TILE_WORDS
    back_last = first_words + middles * matrix_words
    back_middle = back_last + 2
    first_floats = FEATURE_TILES * TILE_FLOATS
    first_last = first_floats + middles * 2 * blocks * TILE_FLOATS
    middle_offset = FEATURES * hidden
    last_offset = middle_offset + middles * hidden * hidden

    @cuda.jit(device=True)
    def load_weights(weights, warp, lane, words, last_words, first_words_back):
        """Pack a warp's own weights; and for all the two matrices at the ends, a part per warp."""
        row, pair = lane >> 2, 2 * (lane & 3)
        for tile in range(2):
            own = UNITS * warp + 8 * tile + row
            for half in range(2):
                at = (pair + 8 * half) * hidden + own
                words[2 * tile + half] = pack_halves(weights[at], weights[at + hidden])
                for block in range(middles * blocks):
                    n = WORDS * block + 2 * tile + half
                    other = UNITS * block + pair + 8 * half
                    at = middle_offset + other * hidden + own
                    words[first_words + n] = pack_halves(weights[at], weights[at + hidden])
                    at = middle_offset + own * hidden + other
                    words[back_middle + n] = pack_bfloat16(weights[at], weights[at + 1])
            at = last_offset + own * OUTPUTS + pair
            words[back_last + tile] = pack_bfloat16(weights[at], weights[at + 1])
        for half in range(2):
            other = UNITS * warp + pair + 8 * half
            at = last_offset + other * OUTPUTS + row
            last_words[warp, lane, half] = pack_halves(weights[at], weights[at + OUTPUTS])
            at = row * hidden + other
            first_words_back[warp, lane, half] = pack_bfloat16(weights[at], weights[at + 1])

    # ------------------------------------------------------------ forward

    @cuda.jit(device=True)
    def forward_first(features, weights, totals):
        """16 samples' features, an operand -> sums of own units."""
        for tile in range(2):
            n = 4 * tile
            totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply_halves(
                features[0], features[1], features[2], features[3], weights[2 * tile],
                weights[2 * tile + 1], float32(0), float32(0), float32(0), float32(0),
            )  # fmt: skip

    @cuda.jit(device=True)
    def forward_middle(board, group, lane, weights, totals):
        for n in range(8):
            totals[n] = float32(0)
        for block in range(blocks):
            a0, a1 = board[group, block, lane, 0], board[group, block, lane, 1]
            a2, a3 = board[group, block, lane, 2], board[group, block, lane, 3]
            for tile in range(2):
                n, w = 4 * tile, first_words + WORDS * block + 2 * tile
                totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply_halves(
                    a0, a1, a2, a3, weights[w], weights[w + 1],
                    totals[n], totals[n + 1], totals[n + 2], totals[n + 3],
                )  # fmt: skip

    @cuda.jit(device=True)
    def forward_last(board, last_words, group, lane, totals):
        """All units of 16 samples -> their outputs: the work of one warp."""
        c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
        for block in range(blocks):
            c0, c1, c2, c3 = multiply_halves(
                board[group, block, lane, 0], board[group, block, lane, 1],
                board[group, block, lane, 2], board[group, block, lane, 3],
                last_words[block, lane, 0], last_words[block, lane, 1], c0, c1, c2, c3,
            )  # fmt: skip
        totals[0], totals[1], totals[2], totals[3] = c0, c1, c2, c3

    # ------------------------------------------------------------ backward

    @cuda.jit(device=True)
    def backward_last(upper, lower, weights, activations, sums, deltas, totals):
        """The outputs' deltas -> own units' deltas, and the gradients of own units' last weights.

        activations: own, of the last layer.
        """
        none, zero = uint32(0), float32(0)
        a0, a2 = transpose_8x8(upper), transpose_8x8(lower)
        for tile in range(2):
            n, at = 4 * tile, first_last + OUTPUT_FLOATS * tile
            b0 = transpose_8x8(halves_to_bfloat16(activations[2 * tile]))
            b1 = transpose_8x8(halves_to_bfloat16(activations[2 * tile + 1]))
            sums[at], sums[at + 1], _, _ = multiply_bfloat16(
                a0, none, a2, none, b0, b1, sums[at], sums[at + 1], zero, zero
            )
            totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply_bfloat16(
                upper, lower, none, none, weights[back_last + tile], none, zero, zero, zero, zero
            )
        mask_to(totals, activations, deltas)

    @cuda.jit(device=True)
    def backward_middle(board, group, lane, weights, activations, deltas, totals):
        """All deltas of the second layer -> own deltas of the first. activations: own, of that."""
        for n in range(8):
            totals[n] = float32(0)
        for block in range(blocks):
            a0, a1 = board[group, block, lane, 0], board[group, block, lane, 1]
            a2, a3 = board[group, block, lane, 2], board[group, block, lane, 3]
            for tile in range(2):
                n, w = 4 * tile, back_middle + WORDS * block + 2 * tile
                totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply_bfloat16(
                    a0, a1, a2, a3, weights[w], weights[w + 1],
                    totals[n], totals[n + 1], totals[n + 2], totals[n + 3],
                )  # fmt: skip
        mask_to(totals, activations, deltas)

    @cuda.jit(device=True)
    def backward_first(board, first_words_back, group, lane, totals):
        """All deltas of the first layer -> gradients of eight features: the work of one warp."""
        c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
        for block in range(blocks):
            c0, c1, c2, c3 = multiply_bfloat16(
                board[group, block, lane, 0], board[group, block, lane, 1],
                board[group, block, lane, 2], board[group, block, lane, 3],
                first_words_back[block, lane, 0], first_words_back[block, lane, 1], c0, c1, c2, c3,
            )  # fmt: skip
        totals[0], totals[1], totals[2], totals[3] = c0, c1, c2, c3

    # ------------------------------------------------------------ sums over samples

    @cuda.jit(device=True)
    def gradient_first(deltas, features, sums):
        """deltas: own, of one group. features: the group's operand."""
        a0, a1 = transpose_8x8(deltas[0]), transpose_8x8(deltas[2])
        a2, a3 = transpose_8x8(deltas[1]), transpose_8x8(deltas[3])
        for part in range(FEATURE_TILES):
            b0 = transpose_8x8(halves_to_bfloat16(features[2 * part]))
            b1 = transpose_8x8(halves_to_bfloat16(features[2 * part + 1]))
            add_tile(a0, a1, a2, a3, b0, b1, sums, TILE_FLOATS * part)

    @cuda.jit(device=True)
    def gradient_middle(deltas, board, group, lane, sums):
        """board: all activations of the first layer, transposed."""
        a0, a1 = transpose_8x8(deltas[0]), transpose_8x8(deltas[2])
        a2, a3 = transpose_8x8(deltas[1]), transpose_8x8(deltas[3])
        for block in range(blocks):
            for side in range(2):
                add_tile(
                    a0, a1, a2, a3, board[group, block, lane, 2 * side],
                    board[group, block, lane, 2 * side + 1], sums,
                    first_floats + TILE_FLOATS * (2 * block + side),
                )  # fmt: skip

    @cuda.jit(device=True)
    def write_tile(sums, n, scale, grad_weights, at):
        """A tile of 16 units x 8 inputs: two units of two inputs per lane."""
        grad_weights[at], grad_weights[at + hidden] = scale * sums[n], scale * sums[n + 1]
        grad_weights[at + 8] = scale * sums[n + 2]
        grad_weights[at + hidden + 8] = scale * sums[n + 3]

    @cuda.jit(device=True)
    def write(sums, scale, warp, lane, grad_weights, base):
        """Write the gradients of own weights to the block's row, from `base` on."""
        unit, pair = UNITS * warp + (lane >> 2), 2 * (lane & 3)
        for part in range(FEATURE_TILES):
            at = base + (8 * part + pair) * hidden + unit
            write_tile(sums, TILE_FLOATS * part, scale, grad_weights, at)
        for part in range(middles * 2 * blocks):
            at = base + middle_offset + (8 * part + pair) * hidden + unit
            write_tile(sums, first_floats + TILE_FLOATS * part, scale, grad_weights, at)
        for part in range(2):
            n = first_last + OUTPUT_FLOATS * part
            at = base + last_offset + (UNITS * warp + 8 * part + pair) * OUTPUTS + (lane >> 2)
            grad_weights[at], grad_weights[at + OUTPUTS] = scale * sums[n], scale * sums[n + 1]

    return WideNetwork(
        back_middle + middles * matrix_words, first_last + 2 * OUTPUT_FLOATS, load_weights,
        forward_first, forward_middle, forward_last,
        backward_last, backward_middle, backward_first, gradient_first, gradient_middle, write,
    )  # fmt: skip
