"""Products on tensor cores, for warps that take 16 samples each, from weights in tiles.

As in `products`, sums are C fragments, operands are A fragments, and weights are B fragments. What
is different is how weights lie in shared memory: in tiles of 16 units x 8 inputs, and of a tile
each lane's own two words lie together: (tiles, 32 lanes, 2) uint32. So no address is computed in a
product, and nothing is shuffled: whatever a lane needs lies in its own place, beside its
neighbours'. There are two such arrays, for the two directions: halves, and bfloat16, transposed.

A thread's numbers are in local arrays, one dimension each, all indices constant: `words` holds the
operand, four words per 16 inputs; `sums` four floats per 8 units.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.config import COLOURS
from kernels.fast.products import store_transposed
from kernels.fast.ptx import (
    mask_of_positive_halves,
    multiply_bfloat16,
    multiply_halves,
    pack_bfloat16,
    pack_relu_bfloat16,
    pack_relu_halves,
)
from kernels.fast.sizes import FEATURE_TILES, WARP

# ---------------------------------------------------------------- samples times weights


def make_forward_product(blocks, unit_tiles):
    """sums = operand @ weights, for `blocks` x 16 inputs and `unit_tiles` x 8 units; halves."""
    unit_blocks, sides = (unit_tiles + 1) // 2, min(unit_tiles, 2)

    @cuda.jit(device=True)
    def forward_product(weights, first, lane, words, sums):
        """weights: this matrix from tile `first` on."""
        for unit_block in range(unit_blocks):
            for side in range(sides):
                c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
                for block in range(blocks):
                    tile, w = first + 2 * (unit_block * blocks + block), 4 * block
                    c0, c1, c2, c3 = multiply_halves(
                        words[w], words[w + 1], words[w + 2], words[w + 3],
                        weights[tile, lane, side], weights[tile + 1, lane, side],
                        c0, c1, c2, c3,
                    )  # fmt: skip
                n = 4 * (2 * unit_block + side)
                sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = c0, c1, c2, c3

    return forward_product


def make_backward_product(unit_blocks, used, inputs):
    """sums = delta @ weights^T, for `unit_blocks` x 16 units; bfloat16.

    inputs: tiles of 8 inputs that the matrix has; used: how many of them are computed.
    """

    @cuda.jit(device=True)
    def backward_product(weights, first, lane, words, sums):
        for tile in range(used):
            c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
            for block in range(unit_blocks):
                at, w = first + block * inputs + tile, 4 * block
                c0, c1, c2, c3 = multiply_bfloat16(
                    words[w], words[w + 1], words[w + 2], words[w + 3],
                    weights[at, lane, 0], weights[at, lane, 1], c0, c1, c2, c3,
                )  # fmt: skip
            n = 4 * tile
            sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = c0, c1, c2, c3

    return backward_product


# ---------------------------------------------------------------- between two products


def make_activate(tiles, first_kept):
    """ReLU: sums -> operand of the next layer; a copy of it is kept, for the way back."""

    @cuda.jit(device=True)
    def activate(sums, words, layer):
        for tile in range(tiles):
            n, w, kept = 4 * tile, 2 * tile, first_kept + 2 * (layer * tiles + tile)
            upper = pack_relu_halves(sums[n], sums[n + 1])
            lower = pack_relu_halves(sums[n + 2], sums[n + 3])
            words[w], words[w + 1] = upper, lower
            words[kept], words[kept + 1] = upper, lower

    return activate


def make_store_activations(tiles):
    """Sums -> a transposed copy of their activations, as bfloat16."""

    @cuda.jit(device=True)
    def store_activations(sums, transposed, first, group, lane):
        for tile in range(tiles):
            n = 4 * tile
            store_transposed(
                transposed, first + tile, group, lane,
                pack_relu_bfloat16(sums[n], sums[n + 1]),
                pack_relu_bfloat16(sums[n + 2], sums[n + 3]),
            )  # fmt: skip

    return store_activations


def make_mask(tiles, first_kept):
    """ReLU's derivative: gradient of activations -> delta, as operand."""

    @cuda.jit(device=True)
    def mask(sums, words, layer):
        for tile in range(tiles):
            n, w, kept = 4 * tile, 2 * tile, first_kept + 2 * (layer * tiles + tile)
            upper = pack_bfloat16(sums[n], sums[n + 1])
            lower = pack_bfloat16(sums[n + 2], sums[n + 3])
            words[w] = upper & mask_of_positive_halves(words[kept])
            words[w + 1] = lower & mask_of_positive_halves(words[kept + 1])

    return mask


def make_store_deltas(tiles):
    """Operand -> a transposed copy."""

    @cuda.jit(device=True)
    def store_deltas(words, transposed, first, group, lane):
        for tile in range(tiles):
            w = 2 * tile
            store_transposed(transposed, first + tile, group, lane, words[w], words[w + 1])

    return store_deltas


# ---------------------------------------------------------------- all of a network


class WarpProducts(NamedTuple):
    """Device functions for a network of one width: a warp's way forward and back."""

    first: Callable
    middle: Callable
    last: Callable
    back_last: Callable
    back_middle: Callable
    back_first: Callable
    activate: Callable
    mask: Callable


@cache
def make_warp_products(hidden):
    """`WarpProducts`. A layer's activations are kept in `words` behind the operand, for `mask`."""
    tiles, blocks = hidden // 8, hidden // 16
    return WarpProducts(
        first=make_forward_product(1, tiles),
        middle=make_forward_product(blocks, tiles),
        last=make_forward_product(blocks, 1),
        back_last=make_backward_product(1, tiles, tiles),
        back_middle=make_backward_product(blocks, tiles, tiles),
        # The way back ends at the first features: no other depends on a parameter.
        back_first=make_backward_product(blocks, 1, FEATURE_TILES),
        activate=make_activate(tiles, 4 * blocks),
        mask=make_mask(tiles, 4 * blocks),
    )


# ---------------------------------------------------------------- sums over samples


@cuda.jit(device=True)
def multiply_half(transposed, delta, activation, k, lane, c0, c1, c2, c3):
    """C + delta^T @ activation over 16 samples, group `k`, for 8 units and 8 inputs."""
    return multiply_bfloat16(
        transposed[delta, k, lane, 0], uint32(0), transposed[delta, k, lane, 1], uint32(0),
        transposed[activation, k, lane, 0], transposed[activation, k, lane, 1], c0, c1, c2, c3,
    )  # fmt: skip


@cuda.jit(device=True)
def multiply_whole(transposed, delta, activation, k, lane, c0, c1, c2, c3):
    """The same for 16 units."""
    return multiply_bfloat16(
        transposed[delta, k, lane, 0], transposed[delta + 1, k, lane, 0],
        transposed[delta, k, lane, 1], transposed[delta + 1, k, lane, 1],
        transposed[activation, k, lane, 0], transposed[activation, k, lane, 1], c0, c1, c2, c3,
    )  # fmt: skip


def make_gradient(blocks, inputs, groups, outputs, add):
    """Gradients of `blocks` x `inputs` tiles of weights, divided among `groups` warps.

    delta^T @ activations over all samples of the block, both factors transposed in shared memory.
    outputs: whether the units are the network's outputs, of which the first three have gradients.
    add: see `weight_tiles`.
    """
    tiles = blocks * inputs
    rounds = (tiles + groups - 1) // groups
    multiply = multiply_half if outputs else multiply_whole

    @cuda.jit(device=True)
    def one_tile(transposed, delta, activation, lane):
        c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
        d0, d1, d2, d3 = float32(0), float32(0), float32(0), float32(0)
        # Two sums of every other group: a product waits for the one that it adds to.
        for k in range(0, groups, 2):
            c0, c1, c2, c3 = multiply(transposed, delta, activation, k, lane, c0, c1, c2, c3)
            d0, d1, d2, d3 = multiply(transposed, delta, activation, k + 1, lane, d0, d1, d2, d3)
        return c0 + d0, c1 + d1, c2 + d2, c3 + d3

    @cuda.jit(device=True)
    def gradient(transposed, deltas, activations, warp, lane, scale, grad_weights, row):
        """row: of this matrix's first tile in grad_weights, which the gradient is added to."""
        for i in range(rounds):
            tile = warp + i * groups
            if tiles % groups == 0 or tile < tiles:
                block, part = tile // inputs, tile % inputs
                c0, c1, c2, c3 = one_tile(transposed, deltas + 2 * block, activations + part, lane)
                if not outputs or lane < 4 * COLOURS:
                    add(
                        grad_weights, row + WARP * tile, lane,
                        scale * c0, scale * c1, scale * c2, scale * c3,
                    )  # fmt: skip

    return gradient
