"""A network for warps that take 16 samples each, with weights in tiles; and for blocks in halves.

    features, 16 samples per warp  ->  gradients of the grid's features of each sample
                                       gradients of all weights, a tile per warp

New against `mlp`: weights lie in shared memory in tiles of 16 units x 8 inputs (`weight_tiles`),
and of a tile each lane's own two words lie together: (tiles, 32 lanes, 2) uint32. So no address is
computed in a product, and nothing is shuffled: whatever a lane needs lies in its own place, beside
its neighbours'. There are two such arrays, for the two directions: halves, and bfloat16,
transposed. As before, sums are C fragments, operands A fragments, and weights B fragments.

And a block may divide its work. A batch's way through the network is a chain of small products,
each of which waits for the one before. So half of a block's warps, the *producers*, take the
samples along that chain and do nothing else. The other half, the *consumers*, sum the gradients of
the weights meanwhile: they need what the producers have left in shared memory, but the producers
need nothing of the consumers.

A thread's numbers are in local arrays, one dimension each, all indices constant: `words` holds the
operand, four words per 16 inputs, and behind it all activations as halves; `sums` four floats per 8
units. `thread_words` says how many words.
"""

from collections import namedtuple
from functools import cache

from numba import cuda, float32, uint32

from kernels.config import COLOURS
from kernels.fast.products import make_sum_over_samples, multiply_transposed, store_transposed
from kernels.fast.ptx import (
    halves_to_bfloat16,
    mask_of_positive_halves,
    multiply_bfloat16,
    multiply_halves,
    pack_bfloat16,
    pack_relu_bfloat16,
    pack_relu_halves,
)
from kernels.fast.sizes import FEATURE_TILES, GROUP, MOST_CHANNELS, WARP
from kernels.fast.weight_tiles import tile_numbers
from kernels.field_math import sigmoid


def thread_words(hidden, layers):
    """uint32 that a thread keeps: an operand, and all activations as halves."""
    return 4 * (hidden // 16) + 2 * layers * (hidden // 8)


def transposed_tiles(hidden, layers):
    """Tiles of 8 units that lie transposed in shared memory, each for all samples of a block.

    The features, the activations of each layer, room for the deltas of one layer, and those of the
    outputs, which come last. A layer's deltas overwrite the activations of the layer above.
    """
    return FEATURE_TILES + (layers + 1) * (hidden // 8) + 1


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


# Device functions for a warp's way forward and back.
WarpProducts = namedtuple(
    "WarpProducts", "first middle last back_last back_middle back_first activate mask"
)


@cache
def make_warp_products(hidden):
    """`WarpProducts` for a network of one width."""
    tiles, blocks = hidden // 8, hidden // 16
    first_kept = 4 * blocks

    @cuda.jit(device=True)
    def activate(sums, words, layer):
        """ReLU: sums -> operand of the next layer; a copy of it is kept, for `mask`."""
        for tile in range(tiles):
            n, w, kept = 4 * tile, 2 * tile, first_kept + 2 * (layer * tiles + tile)
            upper = pack_relu_halves(sums[n], sums[n + 1])
            lower = pack_relu_halves(sums[n + 2], sums[n + 3])
            words[w], words[w + 1] = upper, lower
            words[kept], words[kept + 1] = upper, lower

    @cuda.jit(device=True)
    def mask(sums, words, layer):
        """ReLU's derivative: gradient of activations -> delta, as operand."""
        for tile in range(tiles):
            n, w, kept = 4 * tile, 2 * tile, first_kept + 2 * (layer * tiles + tile)
            upper = pack_bfloat16(sums[n], sums[n + 1])
            lower = pack_bfloat16(sums[n + 2], sums[n + 3])
            words[w] = upper & mask_of_positive_halves(words[kept])
            words[w + 1] = lower & mask_of_positive_halves(words[kept + 1])

    return WarpProducts(
        first=make_forward_product(1, tiles),
        middle=make_forward_product(blocks, tiles),
        last=make_forward_product(blocks, 1),
        back_last=make_backward_product(1, tiles, tiles),
        back_middle=make_backward_product(blocks, tiles, tiles),
        # The backward pass ends at the first features: no other depends on a parameter.
        back_first=make_backward_product(blocks, 1, FEATURE_TILES),
        activate=activate,
        mask=mask,
    )


# ---------------------------------------------------------------- the network's two ends


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
    bits represent well. Returns two words of the backward pass's operand, and the squared error.
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


# ---------------------------------------------------------------- producers

# What producers and consumers share, as one argument, `shared`: rows (groups, 32, 4), features as
# operands; forward_words, backward_words (tiles, 32, 2), packed weights; transposed
# (`transposed_tiles`, groups, 32, 2), all uint32; colours (samples, 4) float32, the targets.
Producers = namedtuple("Producers", "forward backward_middle backward_first")


@cache
def make_producers(hidden, layers):
    """`Producers`: device functions. mine: the thread's (words, sums)."""
    unit_tiles, totals = hidden // 8, hidden // 2
    numbers = tile_numbers(hidden, layers)
    output_place = transposed_tiles(hidden, layers) - 1
    products = make_warp_products(hidden)

    @cuda.jit(device=True)
    def store_activations(sums, transposed, first, group, lane):
        """A transposed copy of what `activate` makes, as bfloat16."""
        for tile in range(unit_tiles):
            n = 4 * tile
            store_transposed(
                transposed, first + tile, group, lane,
                pack_relu_bfloat16(sums[n], sums[n + 1]),
                pack_relu_bfloat16(sums[n + 2], sums[n + 3]),
            )  # fmt: skip

    @cuda.jit(device=True)
    def store_deltas(words, transposed, first, group, lane):
        for tile in range(unit_tiles):
            w = 2 * tile
            store_transposed(transposed, first + tile, group, lane, words[w], words[w + 1])

    @cuda.jit(device=True)
    def forward(shared, mine, group, lane, inside):
        """A group's features -> the outputs' deltas, and what they make of the last activations.

        A product is begun before the last one's results are stored: storing takes its time, and
        producers have nothing to wait for. Returns the sum of squared errors.
        """
        rows, forward_words, backward_words, transposed, colours = shared
        words, sums = mine
        features = cuda.local.array(4, uint32)
        before = cuda.local.array(totals, float32)
        for i in range(4):
            features[i] = rows[group, lane, i]
            words[i] = features[i]
        products.first(forward_words, 0, lane, words, sums)
        for side in range(FEATURE_TILES):
            store_transposed(
                transposed, side, group, lane, halves_to_bfloat16(features[2 * side]),
                halves_to_bfloat16(features[2 * side + 1]),
            )  # fmt: skip
        for layer in range(1, layers + 1):
            products.activate(sums, words, layer - 1)
            for i in range(totals):
                before[i] = sums[i]
            if layer < layers:
                first = numbers.first_middle + (layer - 1) * numbers.middle
                products.middle(forward_words, first, lane, words, sums)
            else:
                products.last(forward_words, numbers.first_last, lane, words, sums)
            place = FEATURE_TILES + (layer - 1) * unit_tiles
            store_activations(before, transposed, place, group, lane)
        upper, lower, squared_error = output_delta(sums, colours, group, lane, inside)
        words[0], words[1], words[2], words[3] = upper, lower, uint32(0), uint32(0)
        products.back_last(backward_words, numbers.first_last, lane, words, sums)
        store_transposed(transposed, output_place, group, lane, upper, lower)
        return squared_error

    @cuda.jit(device=True)
    def backward_middle(layer, shared, mine, group, lane):
        """The deltas of hidden layer `layer` (from 1), and what they make of the one before."""
        _, _, backward_words, transposed, _ = shared
        words, sums = mine
        products.mask(sums, words, layer)
        first = numbers.first_middle + (layer - 1) * numbers.middle
        products.back_middle(backward_words, first, lane, words, sums)
        store_deltas(words, transposed, FEATURE_TILES + (layer + 1) * unit_tiles, group, lane)

    @cuda.jit(device=True)
    def backward_first(shared, mine, group, lane):
        """The first layer's deltas; leaves the features' gradients in `colours`, without scale."""
        _, _, backward_words, transposed, colours = shared
        words, sums = mine
        products.mask(sums, words, 0)
        products.back_first(backward_words, 0, lane, words, sums)
        store_deltas(words, transposed, FEATURE_TILES + unit_tiles, group, lane)
        # Other lanes have read the targets on the way forward.
        cuda.syncwarp()
        store_feature_gradients(sums, colours, group, lane)

    return Producers(forward, backward_middle, backward_first)


# ---------------------------------------------------------------- consumers

Consumers = namedtuple("Consumers", "gradient_last gradient_middle gradient_first")


@cuda.jit(device=True)
def multiply_outputs(transposed, delta, activation, k, lane, c0, c1, c2, c3):
    """As `multiply_transposed`, for the 8 rows of one tile."""
    return multiply_bfloat16(
        transposed[delta, k, lane, 0], uint32(0), transposed[delta, k, lane, 1], uint32(0),
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
    sum_over_samples = make_sum_over_samples(
        groups, multiply_outputs if outputs else multiply_transposed
    )

    @cuda.jit(device=True)
    def gradient(transposed, deltas, activations, warp, lane, into, first):
        """into: (grad_weights, row of the block's first tile, scale). first: this matrix's tile."""
        grad_weights, row, scale = into
        row += WARP * first
        zero = float32(0)
        for i in range(rounds):
            tile = warp + i * groups
            if tiles % groups == 0 or tile < tiles:
                block, part = tile // inputs, tile % inputs
                c0, c1, c2, c3 = sum_over_samples(
                    transposed, deltas + 2 * block, activations + part, lane, zero, zero, zero, zero
                )
                if not outputs or lane < 4 * COLOURS:
                    add(
                        grad_weights, row + WARP * tile, lane,
                        scale * c0, scale * c1, scale * c2, scale * c3,
                    )  # fmt: skip

    return gradient


@cache
def make_consumers(hidden, layers, groups, add):
    """`Consumers`, for blocks of `groups` x 16 samples: device functions. into: see above."""
    unit_tiles, unit_blocks = hidden // 8, hidden // 16
    numbers = tile_numbers(hidden, layers)
    output_place = transposed_tiles(hidden, layers) - 1
    tiles_last = make_gradient(1, unit_tiles, groups, True, add)
    tiles_middle = make_gradient(unit_blocks, unit_tiles, groups, False, add)
    tiles_first = make_gradient(unit_blocks, FEATURE_TILES, groups, False, add)

    @cuda.jit(device=True)
    def gradient_last(transposed, warp, lane, into):
        place = FEATURE_TILES + (layers - 1) * unit_tiles
        tiles_last(transposed, output_place, place, warp, lane, into, numbers.first_last)

    @cuda.jit(device=True)
    def gradient_middle(layer, transposed, warp, lane, into):
        """Of the weights into hidden layer `layer`, from 1."""
        activations = FEATURE_TILES + (layer - 1) * unit_tiles
        deltas = FEATURE_TILES + (layer + 1) * unit_tiles
        first = numbers.first_middle + (layer - 1) * numbers.middle
        tiles_middle(transposed, deltas, activations, warp, lane, into, first)

    @cuda.jit(device=True)
    def gradient_first(transposed, warp, lane, into):
        tiles_first(transposed, FEATURE_TILES + unit_tiles, 0, warp, lane, into, 0)

    return Consumers(gradient_last, gradient_middle, gradient_first)
