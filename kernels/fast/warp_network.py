"""The network for blocks in two halves: one takes samples through it, one sums gradients.

    features, 16 samples per warp  ->  gradients of the first three features of each sample
                                       gradients of all weights, a tile per warp of the other half

The idea: a batch's way through the network is a chain of small products, each of which waits for
the one before. So one half of a block's warps, the *front*, takes the samples along that chain and
does nothing else. The other half, the *rear*, sums the gradients of the weights meanwhile: it needs
what the front has left in shared memory, but the front needs nothing of the rear.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.fast.products import store_transposed
from kernels.fast.ptx import halves_to_bfloat16, pack_bfloat16
from kernels.fast.sizes import FEATURE_TILES, MOST_CHANNELS
from kernels.fast.warp_products import (
    make_gradient,
    make_store_activations,
    make_store_deltas,
    make_warp_products,
)
from kernels.fast.weight_tiles import tile_numbers
from kernels.field_math import sigmoid

GROUP = 16  # samples of a warp: the rows of one product


class WarpNetwork(NamedTuple):
    """Device functions for one size of network and of block."""

    forward: Callable
    backward_middle: Callable
    backward_first: Callable
    gradient_last: Callable
    gradient_middle: Callable
    gradient_first: Callable


def thread_words(hidden, layers):
    """uint32 that a thread of the front keeps: an operand, and all activations as halves."""
    return 4 * (hidden // 16) + 2 * layers * (hidden // 8)


def transposed_tiles(hidden, layers):
    """Tiles of 8 units that lie transposed in shared memory, each for all samples of a block.

    The features, the activations of each layer, room for the deltas of one layer, and those of the
    outputs, which come last. A layer's deltas go where the activations one layer above were, which
    nobody needs any more.
    """
    return FEATURE_TILES + (layers + 1) * (hidden // 8) + 1


@cuda.jit(device=True)
def delta_of(total, target, counts):
    """(gradient of the squared error by `total`, without a factor 2; squared error), or zeros."""
    value = sigmoid(total)
    error = value - target if counts else float32(0)
    return error * value * (float32(1) - value), error * error


@cuda.jit(device=True)
def output_delta(sums, colours, group, lane, inside):
    """Sigmoid, error and their derivative, in the outputs' own fragments.

    Lanes of columns 0 and 1 have the colours. inside: how many of the group's samples belong to
    the batch. The factor 2 / (3 B) is left to the end: without it deltas are of a size that 16
    bits represent well. Returns two words of the operand of the way back, and the squared error.
    """
    row, column = lane >> 2, lane & 3
    sample, channel = GROUP * group + row, 2 * (column & 1)
    left, right = column < 2, column == 0
    upper, lower = row < inside, row + 8 < inside
    d0, e0 = delta_of(sums[0], colours[sample, channel], left and upper)
    d1, e1 = delta_of(sums[1], colours[sample, channel + 1], right and upper)
    d2, e2 = delta_of(sums[2], colours[sample + 8, channel], left and lower)
    d3, e3 = delta_of(sums[3], colours[sample + 8, channel + 1], right and lower)
    return pack_bfloat16(d0, d1), pack_bfloat16(d2, d3), e0 + e1 + e2 + e3


@cuda.jit(device=True)
def store_feature_gradients(sums, colours, group, lane):
    """The gradients of a group's first features, where its targets were; all lanes have read them.

    sums: of eight features, a lane's fragment. colours: (samples of the block, 4) float32.
    """
    sample, channel = GROUP * group + (lane >> 2), 2 * (lane & 3)
    if channel < MOST_CHANNELS:
        colours[sample, channel], colours[sample, channel + 1] = sums[0], sums[1]
        colours[sample + 8, channel], colours[sample + 8, channel + 1] = sums[2], sums[3]


def make_front(hidden, layers):
    """(forward, backward_middle, backward_first), for the warps of the front."""
    unit_tiles, totals = hidden // 8, hidden // 2
    numbers = tile_numbers(hidden, layers)
    output_place = transposed_tiles(hidden, layers) - 1
    products = make_warp_products(hidden)
    product_first, product_middle, product_last = products.first, products.middle, products.last
    product_back_last, product_back_middle = products.back_last, products.back_middle
    product_back_first, activate, mask = products.back_first, products.activate, products.mask
    store_activations = make_store_activations(unit_tiles)
    store_deltas = make_store_deltas(unit_tiles)

    @cuda.jit(device=True)
    def forward(
        rows, forward_words, backward_words, colours, transposed, words, sums, group, lane, inside
    ):
        """A group's features -> the outputs' deltas, and what they make of the last activations.

        A product is begun before the last one's results are stored: storing takes its time, and
        the front has nothing to wait for. Returns the sum of squared errors.
        """
        features = cuda.local.array(4, uint32)
        before = cuda.local.array(totals, float32)
        for i in range(4):
            features[i] = rows[group, lane, i]
            words[i] = features[i]
        product_first(forward_words, 0, lane, words, sums)
        for side in range(FEATURE_TILES):
            store_transposed(
                transposed, side, group, lane, halves_to_bfloat16(features[2 * side]),
                halves_to_bfloat16(features[2 * side + 1]),
            )  # fmt: skip
        for layer in range(1, layers + 1):
            activate(sums, words, layer - 1)
            for i in range(totals):
                before[i] = sums[i]
            if layer < layers:
                first = numbers.first_middle + (layer - 1) * numbers.middle
                product_middle(forward_words, first, lane, words, sums)
            else:
                product_last(forward_words, numbers.first_last, lane, words, sums)
            place = FEATURE_TILES + (layer - 1) * unit_tiles
            store_activations(before, transposed, place, group, lane)
        upper, lower, squared_error = output_delta(sums, colours, group, lane, inside)
        words[0], words[1], words[2], words[3] = upper, lower, uint32(0), uint32(0)
        product_back_last(backward_words, numbers.first_last, lane, words, sums)
        store_transposed(transposed, output_place, group, lane, upper, lower)
        return squared_error

    @cuda.jit(device=True)
    def backward_middle(layer, weights, transposed, words, sums, group, lane):
        """The deltas of hidden layer `layer` (from 1), and what they make of the one before."""
        mask(sums, words, layer)
        first = numbers.first_middle + (layer - 1) * numbers.middle
        product_back_middle(weights, first, lane, words, sums)
        place = FEATURE_TILES + (layer + 1) * unit_tiles
        store_deltas(words, transposed, place, group, lane)

    @cuda.jit(device=True)
    def backward_first(weights, transposed, colours, words, sums, group, lane):
        """The first layer's deltas; leaves the features' gradients in `colours`, without scale."""
        mask(sums, words, 0)
        product_back_first(weights, 0, lane, words, sums)
        store_deltas(words, transposed, FEATURE_TILES + unit_tiles, group, lane)
        # Other lanes have read the targets on the way forward.
        cuda.syncwarp()
        store_feature_gradients(sums, colours, group, lane)

    return forward, backward_middle, backward_first


def make_rear(hidden, layers, groups, add):
    """(gradient_last, gradient_middle, gradient_first), for the warps of the rear."""
    unit_tiles, unit_blocks = hidden // 8, hidden // 16
    numbers = tile_numbers(hidden, layers)
    output_place = transposed_tiles(hidden, layers) - 1
    tiles_last = make_gradient(1, unit_tiles, groups, True, add)
    tiles_middle = make_gradient(unit_blocks, unit_tiles, groups, False, add)
    tiles_first = make_gradient(unit_blocks, FEATURE_TILES, groups, False, add)

    @cuda.jit(device=True)
    def gradient_last(transposed, warp, lane, scale, grad_weights, row):
        """row: where the block's gradients begin in grad_weights."""
        place = FEATURE_TILES + (layers - 1) * unit_tiles
        row += 32 * numbers.first_last
        tiles_last(transposed, output_place, place, warp, lane, scale, grad_weights, row)

    @cuda.jit(device=True)
    def gradient_middle(layer, transposed, warp, lane, scale, grad_weights, row):
        """Of the weights into hidden layer `layer`, from 1."""
        activations = FEATURE_TILES + (layer - 1) * unit_tiles
        deltas = FEATURE_TILES + (layer + 1) * unit_tiles
        row += 32 * (numbers.first_middle + (layer - 1) * numbers.middle)
        tiles_middle(transposed, deltas, activations, warp, lane, scale, grad_weights, row)

    @cuda.jit(device=True)
    def gradient_first(transposed, warp, lane, scale, grad_weights, row):
        deltas = FEATURE_TILES + unit_tiles
        tiles_first(transposed, deltas, 0, warp, lane, scale, grad_weights, row)

    return gradient_last, gradient_middle, gradient_first


@cache
def make_warp_network(hidden, layers, groups, add):
    """`WarpNetwork`, for blocks of `groups` x 16 samples. add: see `weight_tiles`."""
    return WarpNetwork(*make_front(hidden, layers), *make_rear(hidden, layers, groups, add))
