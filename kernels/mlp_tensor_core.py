"""The network on tensor cores: 32 samples a warp, forward and backward, without leaving the chip.

    features, target (32 samples a warp)
        ->  gradients of all weights (of a block), gradient of three features (of each sample)

The idea: a tensor core multiplies a 16 x 16 matrix by a 16 x 8 one in a single instruction, if a
warp holds both in the registers of its 32 lanes, in *fragments* (see `ptx`). The result of one
layer, packed to 16 bits, has the very layout that the next layer wants on its left side. So
activations stay in registers from layer to layer, and only weights come from shared memory.

Forward, operands are halves; where gradients are multiplied, they are bfloats, whose exponents
reach as far as those of a float32. Sums are float32 always, and so are the weights that Adam
moves: each block packs a 16-bit copy of them once a step.

The gradient of a weight is a sum over samples, which different warps hold. They put activations
and deltas into shared memory, transposed, fragment by fragment: then any warp can multiply what
all warps have put there, 128 samples at a time, and no sums have to be exchanged.

Sizes must be known when a kernel is compiled, or arrays of registers would end up in memory.
Hence `make_mlp`, a function that makes the functions for one size of network.

Sources: the fully fused networks of Mueller et al., "Real-time Neural Radiance Caching for Path
Tracing", SIGGRAPH 2021; mixed precision, Micikevicius et al., ICLR 2018.
"""

from functools import lru_cache
from typing import Callable, NamedTuple

from numba import cuda, float32, uint32

from kernels.config import COLOURS, FEATURES, OUTPUTS
from kernels.field_math import relu, sigmoid
from kernels.ptx import (
    multiply_bfloats,
    multiply_halves,
    pack_bfloats,
    pack_halves,
    transpose_8x8,
    unpack_halves,
)

WARP = 32
TILES = 2  # tiles of 16 samples a warp: two chains of products that need not wait for each other
UNITS = 8  # a tensor core makes 8 units at a time
USED_OUTPUTS = 8  # of 16: the first three are colours, the others never move
FEATURE_WORDS = FEATURES // 2
FEATURE_PITCH = FEATURE_WORDS + 4  # 12 r + c meets no bank twice for r < 8, c < 4
SHARED_BYTES = 48 * 1024


class Mlp(NamedTuple):
    """Device functions for one size of network, and what they need."""

    warps: int  # a block
    shape_words: tuple  # shared uint32 arrays: packed weights,
    shape_activations: tuple  # transposed activations of all layers,
    shape_deltas: tuple  # transposed deltas of one layer
    pack_weights: Callable
    forward_backward: Callable
    forward: Callable


def word_count(hidden, layers):
    """Words of shared memory that hold the weights, two to a word, rows 8 words apart in banks."""
    first = FEATURES // 2 * (hidden + UNITS)
    middle = (layers - 1) * hidden // 2 * (hidden + UNITS)
    return first + middle + hidden // 2 * USED_OUTPUTS


def shared_bytes(hidden, layers, warps):
    samples = warps * WARP
    transposed = (FEATURES + layers * hidden + hidden) * samples * 2
    exchanged = samples * 4 * (FEATURE_PITCH + COLOURS + 2 * layers)
    return word_count(hidden, layers) * 4 + transposed + exchanged


def warps_that_fit(hidden, layers):
    """Warps of 32 samples that one block's shared memory can serve; 0 if the network is too large."""
    for warps in (4, 2, 1):
        if shared_bytes(hidden, layers, warps) <= SHARED_BYTES:
            return warps
    return 0


# ---------------------------------------------------------------- products


def make_forward_product(blocks, unit_tiles, pitch):
    """sums = operand @ weights, for `blocks` x 16 inputs and `unit_tiles` x 8 units."""

    @cuda.jit(device=True)
    def forward_product(words, first, lane, operand, sums):
        row, column = lane % 4, lane // 4
        for unit_tile in range(unit_tiles):
            for tile in range(TILES):
                for i in range(4):
                    sums[tile, unit_tile, i] = float32(0)
            for block in range(blocks):
                at = first + (8 * block + row) * pitch + UNITS * unit_tile + column
                low, high = words[at], words[at + 4 * pitch]
                for tile in range(TILES):
                    (
                        sums[tile, unit_tile, 0],
                        sums[tile, unit_tile, 1],
                        sums[tile, unit_tile, 2],
                        sums[tile, unit_tile, 3],
                    ) = multiply_halves(
                        operand[tile, block, 0], operand[tile, block, 1],
                        operand[tile, block, 2], operand[tile, block, 3], low, high,
                        sums[tile, unit_tile, 0], sums[tile, unit_tile, 1],
                        sums[tile, unit_tile, 2], sums[tile, unit_tile, 3],
                    )  # fmt: skip

    return forward_product


@cuda.jit(device=True)
def transposed_pair(words, at, upper):
    """Weights from one input to two neighbouring units: their words also hold another input's."""
    low_0, high_0 = unpack_halves(words[at])
    low_1, high_1 = unpack_halves(words[at + 1])
    return pack_bfloats(high_0 if upper else low_0, high_1 if upper else low_1)


def make_backward_product(unit_tiles, input_tiles, pitch):
    """sums = delta @ weights^T, for `unit_tiles` x 8 units and `input_tiles` x 8 inputs."""
    blocks = max(1, unit_tiles // 2)
    half_a_block = unit_tiles == 1

    @cuda.jit(device=True)
    def backward_product(words, first, lane, operand, sums):
        unit, local_input = 2 * (lane % 4), lane // 4
        upper = local_input % 2 == 1
        for input_tile in range(input_tiles):
            for tile in range(TILES):
                for i in range(4):
                    sums[tile, input_tile, i] = float32(0)
            for block in range(blocks):
                at = first + (4 * input_tile + local_input // 2) * pitch + 16 * block + unit
                low = transposed_pair(words, at, upper)
                high = uint32(0) if half_a_block else transposed_pair(words, at + UNITS, upper)
                for tile in range(TILES):
                    (
                        sums[tile, input_tile, 0],
                        sums[tile, input_tile, 1],
                        sums[tile, input_tile, 2],
                        sums[tile, input_tile, 3],
                    ) = multiply_bfloats(
                        operand[tile, block, 0], operand[tile, block, 1],
                        operand[tile, block, 2], operand[tile, block, 3], low, high,
                        sums[tile, input_tile, 0], sums[tile, input_tile, 1],
                        sums[tile, input_tile, 2], sums[tile, input_tile, 3],
                    )  # fmt: skip

    return backward_product


def make_weight_gradient(input_blocks, unit_tiles, fan_out, warps):
    """gradient = activations^T @ delta over all samples of a block, shared out among its warps."""
    sample_blocks = warps * TILES

    @cuda.jit(device=True)
    def weight_gradient(activations, first, deltas, warp, lane, scale, gradient, offset, begin):
        for task in range(warp, input_blocks * unit_tiles, warps):
            input_block, unit_tile = task // unit_tiles, task % unit_tiles
            upper = first + 2 * input_block
            c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
            for k in range(sample_blocks):
                c0, c1, c2, c3 = multiply_bfloats(
                    activations[upper, k, 0, lane], activations[upper + 1, k, 0, lane],
                    activations[upper, k, 1, lane], activations[upper + 1, k, 1, lane],
                    deltas[unit_tile, k, 0, lane], deltas[unit_tile, k, 1, lane],
                    c0, c1, c2, c3,
                )  # fmt: skip
            at = (
                offset
                + (16 * input_block + lane // 4) * fan_out
                + UNITS * unit_tile
                + 2 * (lane % 4)
            )
            if begin:
                gradient[at] = scale * c0
                gradient[at + 1] = scale * c1
                gradient[at + 8 * fan_out] = scale * c2
                gradient[at + 8 * fan_out + 1] = scale * c3
            else:
                gradient[at] += scale * c0
                gradient[at + 1] += scale * c1
                gradient[at + 8 * fan_out] += scale * c2
                gradient[at + 8 * fan_out + 1] += scale * c3

    return weight_gradient


# ---------------------------------------------------------------- between the products


@cuda.jit(device=True)
def keep_transposed(transposed, unit_tile, sample_block, lane, upper, lower):
    """Put 16 samples x 8 units into shared memory, so that sums over samples can be formed."""
    transposed[unit_tile, sample_block, 0, lane] = transpose_8x8(upper)
    transposed[unit_tile, sample_block, 1, lane] = transpose_8x8(lower)


def make_activate_only(unit_tiles):
    """ReLU: sums -> operand of the next layer."""

    @cuda.jit(device=True)
    def activate_only(sums, operand):
        for tile in range(TILES):
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = pack_halves(
                    relu(sums[tile, unit_tile, 0]), relu(sums[tile, unit_tile, 1])
                )
                operand[tile, block, side + 1] = pack_halves(
                    relu(sums[tile, unit_tile, 2]), relu(sums[tile, unit_tile, 3])
                )

    return activate_only


def make_activate(unit_tiles):
    """The same, and for the way back: a transposed copy, and which units are open."""

    @cuda.jit(device=True)
    def activate(sums, operand, open_units, layer, transposed, first, warp, lane):
        thread = warp * WARP + lane
        for tile in range(TILES):
            bits = uint32(0)
            for unit_tile in range(unit_tiles):
                for i in range(4):
                    value = relu(sums[tile, unit_tile, i])
                    if value > float32(0):
                        bits |= uint32(1) << uint32(4 * unit_tile + i)
                    sums[tile, unit_tile, i] = value
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = pack_halves(
                    sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                )
                operand[tile, block, side + 1] = pack_halves(
                    sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                )
                keep_transposed(
                    transposed, first + unit_tile, TILES * warp + tile, lane,
                    pack_bfloats(sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]),
                    pack_bfloats(sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]),
                )  # fmt: skip
            open_units[layer, tile, thread] = bits

    return activate


def make_mask(unit_tiles):
    """ReLU's derivative: gradient of activations -> delta, as operand and transposed copy."""

    @cuda.jit(device=True)
    def mask(sums, operand, open_units, layer, deltas, warp, lane):
        thread = warp * WARP + lane
        for tile in range(TILES):
            bits = open_units[layer, tile, thread]
            for unit_tile in range(unit_tiles):
                for i in range(4):
                    is_open = (bits >> uint32(4 * unit_tile + i)) & uint32(1)
                    if is_open == uint32(0):
                        sums[tile, unit_tile, i] = float32(0)
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                upper = pack_bfloats(sums[tile, unit_tile, 0], sums[tile, unit_tile, 1])
                lower = pack_bfloats(sums[tile, unit_tile, 2], sums[tile, unit_tile, 3])
                operand[tile, block, side] = upper
                operand[tile, block, side + 1] = lower
                keep_transposed(deltas, unit_tile, TILES * warp + tile, lane, upper, lower)

    return mask


@cuda.jit(device=True)
def load_features(feature_words, operand, warp, lane):
    """Rows of features, a sample each -> operand of the first layer."""
    row, column = lane // 4, lane % 4
    for tile in range(TILES):
        sample = WARP * warp + 16 * tile + row
        for side in range(2):
            operand[tile, 0, 2 * side] = feature_words[sample, 4 * side + column]
            operand[tile, 0, 2 * side + 1] = feature_words[sample + 8, 4 * side + column]


@cuda.jit(device=True)
def keep_features(operand, transposed, warp, lane):
    """The transposed copy of the features, as bfloats."""
    for tile in range(TILES):
        for side in range(2):
            u0, u1 = unpack_halves(operand[tile, 0, 2 * side])
            l0, l1 = unpack_halves(operand[tile, 0, 2 * side + 1])
            keep_transposed(
                transposed, side, TILES * warp + tile, lane,
                pack_bfloats(u0, u1), pack_bfloats(l0, l1),
            )  # fmt: skip


@cuda.jit(device=True)
def output_delta(sums, operand, exchange, deltas, count, warp, lane):
    """Sigmoid, error and their derivative, for what a lane holds of the outputs.

    exchange: (samples, 3) float32, the targets. count: samples that are there; others get zero.
    Returns the sum of squared errors. The factor 2 / (3 B) is left to the end: without it deltas
    are of a size that 16 bits represent well.
    """
    squared_error = float32(0)
    row, first_column = lane // 4, 2 * (lane % 4)
    for tile in range(TILES):
        for i in range(4):
            sample = WARP * warp + 16 * tile + row + 8 * (i // 2)
            column = first_column + i % 2
            delta = float32(0)
            if column < COLOURS and sample < count:
                output = sigmoid(sums[tile, 0, i])
                error = output - exchange[sample, column]
                squared_error += error * error
                delta = error * output * (float32(1) - output)
            sums[tile, 0, i] = delta
        upper = pack_bfloats(sums[tile, 0, 0], sums[tile, 0, 1])
        lower = pack_bfloats(sums[tile, 0, 2], sums[tile, 0, 3])
        operand[tile, 0, 0] = upper
        operand[tile, 0, 1] = lower
        operand[tile, 0, 2] = uint32(0)
        operand[tile, 0, 3] = uint32(0)
        keep_transposed(deltas, 0, TILES * warp + tile, lane, upper, lower)
    return squared_error


@cuda.jit(device=True)
def hand_over(sums, exchange, warp, lane):
    """Colours, from fragments to rows: (samples, 3) in [0, 1], a sample a row."""
    row, first_column = lane // 4, 2 * (lane % 4)
    for tile in range(TILES):
        for i in range(4):
            column = first_column + i % 2
            if column < COLOURS:
                sample = WARP * warp + 16 * tile + row + 8 * (i // 2)
                exchange[sample, column] = sigmoid(sums[tile, 0, i])


@cuda.jit(device=True)
def hand_back(sums, exchange, scale, warp, lane):
    """Gradients of features 0 to 2, from fragments to rows: (samples, 3), a sample a row."""
    row, first_column = lane // 4, 2 * (lane % 4)
    for tile in range(TILES):
        for i in range(4):
            column = first_column + i % 2
            if column < COLOURS:
                sample = WARP * warp + 16 * tile + row + 8 * (i // 2)
                exchange[sample, column] = scale * sums[tile, 0, i]


def make_pack(fan_in, fan_out, used, pitch, threads):
    """Copy one matrix into shared memory, two inputs' weights of a unit to a word."""

    @cuda.jit(device=True)
    def pack(weights, offset, words, first, thread):
        for item in range(thread, fan_in // 2 * used, threads):
            pair, unit = item // used, item % used
            at = offset + 2 * pair * fan_out + unit
            words[first + pair * pitch + unit] = pack_halves(weights[at], weights[at + fan_out])

    return pack


# ---------------------------------------------------------------- one size of network


@lru_cache(maxsize=None)
def make_mlp(hidden, layers):
    """Device functions for `layers` hidden layers of `hidden` units (16, 32 or 64), as `Mlp`."""
    warps = warps_that_fit(hidden, layers)
    threads = warps * WARP
    tiles, blocks, pitch = hidden // UNITS, hidden // 16, hidden + UNITS
    feature_tiles = FEATURES // UNITS
    last_offset = FEATURES * hidden + (layers - 1) * hidden * hidden
    last_words = word_count(hidden, layers) - hidden // 2 * USED_OUTPUTS
    words_first, words_middle = FEATURES // 2 * pitch, hidden // 2 * pitch
    activation_tiles = feature_tiles + layers * tiles

    forward_first = make_forward_product(1, tiles, pitch)
    forward_middle = make_forward_product(blocks, tiles, pitch)
    forward_last = make_forward_product(blocks, 1, USED_OUTPUTS)
    backward_last = make_backward_product(1, tiles, USED_OUTPUTS)
    backward_middle = make_backward_product(tiles, tiles, pitch)
    backward_first = make_backward_product(tiles, 1, pitch)
    gradient_last = make_weight_gradient(blocks, 1, OUTPUTS, warps)
    gradient_middle = make_weight_gradient(blocks, tiles, hidden, warps)
    gradient_first = make_weight_gradient(1, tiles, hidden, warps)
    activate, activate_only = make_activate(tiles), make_activate_only(tiles)
    mask = make_mask(tiles)
    pack_first = make_pack(FEATURES, hidden, hidden, pitch, threads)
    pack_middle = make_pack(hidden, hidden, hidden, pitch, threads)
    pack_last = make_pack(hidden, OUTPUTS, USED_OUTPUTS, USED_OUTPUTS, threads)

    @cuda.jit(device=True)
    def pack_weights(weights, words, thread):
        """weights (n,) float32 -> 16-bit copies in shared memory. Needs a barrier afterwards."""
        pack_first(weights, 0, words, 0, thread)
        for layer in range(1, layers):
            offset = FEATURES * hidden + (layer - 1) * hidden * hidden
            pack_middle(weights, offset, words, words_first + (layer - 1) * words_middle, thread)
        pack_last(weights, last_offset, words, last_words, thread)

    @cuda.jit(device=True)
    def forward_backward(
        words, feature_words, exchange, activations, deltas, open_units, count, scale, gradient,
        begin, warp, lane,
    ):  # fmt: skip
        """Take a warp's samples through the network and back; all warps of the block at once.

        words: packed weights. feature_words (samples, FEATURE_PITCH) uint32: features as halves.
        exchange (samples, 3) float32: targets; becomes the features' gradients. activations,
        deltas, open_units: shared arrays of the shapes in `Mlp`. count: samples of the block that
        are there. gradient (n,) float32: set if `begin`, else added to. Returns the sum of
        squared errors that this lane has seen.
        """
        operand = cuda.local.array((TILES, blocks, 4), uint32)
        sums = cuda.local.array((TILES, tiles, 4), float32)

        load_features(feature_words, operand, warp, lane)
        keep_features(operand, activations, warp, lane)
        forward_first(words, 0, lane, operand, sums)
        activate(sums, operand, open_units, 0, activations, feature_tiles, warp, lane)
        for layer in range(1, layers):
            forward_middle(words, words_first + (layer - 1) * words_middle, lane, operand, sums)
            first = feature_tiles + layer * tiles
            activate(sums, operand, open_units, layer, activations, first, warp, lane)
        forward_last(words, last_words, lane, operand, sums)
        squared_error = output_delta(sums, operand, exchange, deltas, count, warp, lane)

        # Sums over samples need what all warps have put into shared memory.
        cuda.syncthreads()
        gradient_last(
            activations, feature_tiles + (layers - 1) * tiles, deltas, warp, lane, scale,
            gradient, last_offset, begin,
        )  # fmt: skip
        backward_last(words, last_words, lane, operand, sums)
        for step in range(layers - 1):
            layer = layers - 1 - step
            # Everyone must have read the deltas above before these take their place ...
            cuda.syncthreads()
            mask(sums, operand, open_units, layer, deltas, warp, lane)
            # ... and everyone must have written before anyone reads.
            cuda.syncthreads()
            offset = FEATURES * hidden + (layer - 1) * hidden * hidden
            gradient_middle(
                activations, feature_tiles + (layer - 1) * tiles, deltas, warp, lane, scale,
                gradient, offset, begin,
            )  # fmt: skip
            backward_middle(words, words_first + (layer - 1) * words_middle, lane, operand, sums)
        cuda.syncthreads()
        mask(sums, operand, open_units, 0, deltas, warp, lane)
        cuda.syncthreads()
        gradient_first(activations, 0, deltas, warp, lane, scale, gradient, 0, begin)
        backward_first(words, 0, lane, operand, sums)
        hand_back(sums, exchange, scale, warp, lane)
        return squared_error

    @cuda.jit(device=True)
    def forward(words, feature_words, exchange, warp, lane):
        """Only the colours, to exchange (samples, 3); a warp needs no other."""
        operand = cuda.local.array((TILES, blocks, 4), uint32)
        sums = cuda.local.array((TILES, tiles, 4), float32)

        load_features(feature_words, operand, warp, lane)
        forward_first(words, 0, lane, operand, sums)
        activate_only(sums, operand)
        for layer in range(1, layers):
            forward_middle(words, words_first + (layer - 1) * words_middle, lane, operand, sums)
            activate_only(sums, operand)
        forward_last(words, last_words, lane, operand, sums)
        hand_over(sums, exchange, warp, lane)

    return Mlp(
        warps,
        word_count(hidden, layers),
        (activation_tiles, warps * TILES, 2, WARP),
        (tiles, warps * TILES, 2, WARP),
        pack_weights,
        forward_backward,
        forward,
    )
