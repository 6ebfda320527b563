"""The whole training in one kernel, for networks of 128 units: every warp owns 16 of them.

The loop is that of `persistent_two_barriers`, with another first part of the step. The weights of
128 units do not fit into a warp's registers, nor twice into shared memory. New here: each of eight
warps holds the weights of its own 16 units, and the sums of their gradients, from the first sample
of a step to the last. What travels between warps is activations and deltas. They go through shared
buffers as they are: the sums of 16 units, packed, are just what a lane needs of 16 inputs of the
next product (see `tensor_core_forward`). So a warp writes its 16 bytes per lane, and reads those of
all warps, in the same layout. A block takes 32 samples at a time, two groups:

    warps 2 and 3   draw the next samples                              (`sample`, two lanes)
    all             own units of layer 1        -> shared buffer
    all             own units of layer 2        -> shared buffer
    warps 0 and 1   outputs, their deltas       -> shared memory
    all             own deltas of layer 2       -> shared buffer
    all             own deltas of layer 1       -> shared buffer;  gradients of own weights
    warps 0 and 1   gradients of the features   -> cells of the grid

All warps meet at a barrier between these lines, except after the first and before the last: drawn
samples are needed later, and cells by nobody.

What a thread keeps is in local arrays of one dimension, all indices constant:

    weights   words: own units' inputs, forward as halves; own inputs' units, backward as bfloat16
    sums      float32: of the gradients of own weights, in tiles of 16 units x 8 inputs
"""

from collections import namedtuple
from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, FEATURES, GRID_CHANNELS, OUTPUTS
from kernels.fast.persistent_large_batch import (
    GROUP_WORDS,
    OUTPUT_FLOATS,
    TILE_FLOATS,
    add_output_tile,
    add_tile,
)
from kernels.fast.persistent_two_barriers import make_train, with_gradients
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
from kernels.fast.sample import (
    load_side,
    make_draw_pair,
    make_encode_pair,
    make_scatter_pair,
    read_words,
    texels_of_side,
)
from kernels.fast.sizes import FEATURE_TILES, GROUP, WARP, fast_math
from kernels.fast.warp_network import output_delta, store_feature_gradients
from kernels.field_math import pixel_centre, sigmoid

WIDE = 128  # units
UNITS = 16  # of a layer per warp: two tiles of products, and one block of the next one's inputs
GROUPS = 2  # of 16 samples that a block takes at once
BLOCK_SAMPLES = GROUPS * GROUP
REGISTERS = 248  # per thread: nearly all that an instruction can name
WORDS = 4  # that a lane has of 16 samples x 16 units
TILE_WORDS = 2  # of a tile of weights: 16 inputs x 8 units


def wide_fits(hidden, layers):
    """Whether the kernel is made for such a network: 128 units, 1 or 2 layers."""
    return hidden == WIDE and layers <= 2


# ---------------------------------------------------------------- between two products


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
def write_words(buffer, group, warp, lane, words):
    """Put a lane's four words where the other warps read them."""
    for n in range(WORDS):
        buffer[group, warp, lane, n] = words[n]


@cuda.jit(device=True)
def read_own_words(buffer, group, warp, lane, words):
    """What this lane has written: there it needs no registers meanwhile."""
    for n in range(WORDS):
        words[n] = buffer[group, warp, lane, n]


@cuda.jit(device=True)
def write_transposed(buffer, group, warp, lane, words):
    """As `write_words`, for sums over samples: bfloat16, a pair of samples per word."""
    for n in range(WORDS):
        buffer[group, warp, lane, n] = transpose_8x8(halves_to_bfloat16(words[n]))


# ---------------------------------------------------------------- the network


def make_multiply_all(multiply, blocks, first):
    """All units of 16 samples -> sums of own units; weights: words, from `first` on."""

    @cuda.jit(device=True)
    def multiply_all(buffer, group, lane, weights, totals):
        for n in range(8):
            totals[n] = float32(0)
        for block in range(blocks):
            a0, a1 = buffer[group, block, lane, 0], buffer[group, block, lane, 1]
            a2, a3 = buffer[group, block, lane, 2], buffer[group, block, lane, 3]
            for tile in range(2):
                n, w = 4 * tile, first + WORDS * block + 2 * tile
                totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply(
                    a0, a1, a2, a3, weights[w], weights[w + 1],
                    totals[n], totals[n + 1], totals[n + 2], totals[n + 3],
                )  # fmt: skip

    return multiply_all


def make_multiply_end(multiply, blocks):
    """All units of 16 samples -> eight outputs, or features: the work of one warp."""

    @cuda.jit(device=True)
    def multiply_end(buffer, words, group, lane, totals):
        c0, c1, c2, c3 = float32(0), float32(0), float32(0), float32(0)
        for block in range(blocks):
            c0, c1, c2, c3 = multiply(
                buffer[group, block, lane, 0], buffer[group, block, lane, 1],
                buffer[group, block, lane, 2], buffer[group, block, lane, 3],
                words[block, lane, 0], words[block, lane, 1], c0, c1, c2, c3,
            )  # fmt: skip
        totals[0], totals[1], totals[2], totals[3] = c0, c1, c2, c3

    return multiply_end


# Device functions for one size of network; how many numbers a thread keeps.
WideNetwork = namedtuple(
    "WideNetwork",
    "weight_words floats load_weights forward_first forward_middle forward_last backward_last "
    "backward_middle backward_first gradient_first gradient_middle write",
)


@cache
def make_wide_network(hidden, layers):
    """`WideNetwork` for 1 or 2 layers of `hidden` units, a multiple of 16."""
    blocks, middles = hidden // UNITS, layers - 1
    matrix_words = 2 * TILE_WORDS * blocks
    first_words = 2 * TILE_WORDS
    back_last = first_words + middles * matrix_words
    back_middle = back_last + 2
    first_floats = FEATURE_TILES * TILE_FLOATS
    first_last = first_floats + middles * 2 * blocks * TILE_FLOATS
    middle_offset = FEATURES * hidden
    last_offset = middle_offset + middles * hidden * hidden
    multiply_back = make_multiply_all(multiply_bfloat16, blocks, back_middle)

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
    def backward_last(upper, lower, weights, activations, sums, deltas, totals):
        """The outputs' deltas -> own units' deltas, and the gradients of own units' last weights.

        activations: own, of the last layer.
        """
        none, zero = uint32(0), float32(0)
        a0, a2 = transpose_8x8(upper), transpose_8x8(lower)
        for tile in range(2):
            n = 4 * tile
            add_output_tile(a0, a2, activations, 2 * tile, sums, first_last + OUTPUT_FLOATS * tile)
            totals[n], totals[n + 1], totals[n + 2], totals[n + 3] = multiply_bfloat16(
                upper, lower, none, none, weights[back_last + tile], none, zero, zero, zero, zero
            )
        mask_to(totals, activations, deltas)

    @cuda.jit(device=True)
    def backward_middle(buffer, group, lane, weights, activations, deltas, totals):
        """All deltas of the second layer -> own deltas of the first. activations: own, of that."""
        multiply_back(buffer, group, lane, weights, totals)
        mask_to(totals, activations, deltas)

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
    def gradient_middle(deltas, buffer, group, lane, sums):
        """buffer: all activations of the first layer, transposed."""
        a0, a1 = transpose_8x8(deltas[0]), transpose_8x8(deltas[2])
        a2, a3 = transpose_8x8(deltas[1]), transpose_8x8(deltas[3])
        for block in range(blocks):
            for side in range(2):
                add_tile(
                    a0, a1, a2, a3, buffer[group, block, lane, 2 * side],
                    buffer[group, block, lane, 2 * side + 1], sums,
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
        forward_first, make_multiply_all(multiply_halves, blocks, first_words),
        make_multiply_end(multiply_halves, blocks), backward_last, backward_middle,
        make_multiply_end(multiply_bfloat16, blocks), gradient_first, gradient_middle, write,
    )  # fmt: skip


# ---------------------------------------------------------------- training


def make_ends(channels, deterministic):
    """(draw_group, scatter_group): a group's way into the network and out of it; one warp.

    samples: (uv, colours, rows), shared memory with room for four groups, of which `place` is one.
    """
    draw_pair, scatter_pair = make_draw_pair(channels), make_scatter_pair(channels, deterministic)

    @cuda.jit(device=True)
    def draw_group(arrays, first, step, settings, place, lane, samples):
        """first: the group's first sample."""
        uv, colours, rows = samples
        own = GROUP * place + (lane >> 1)
        sample, row = first + (lane >> 1), GROUP_WORDS * place
        u, v, _ = draw_pair(arrays, sample, step, settings, lane, rows, row, colours, own)
        if lane & 1 == 0:
            uv[own, 0] = u
        else:
            uv[own, 1] = v

    @cuda.jit(device=True)
    def scatter_group(arrays, settings, totals, place, lane, scale, inside, samples):
        """Gradients of features -> cells. Where the targets were is room for them."""
        uv, colours, _ = samples
        store_feature_gradients(totals, colours, place, lane)
        # Other lanes of the warp have written what a lane reads.
        cuda.syncwarp()
        own = GROUP * place + (lane >> 1)
        cells = texels_of_side(
            uv[own, 0], uv[own, 1], lane & 1, settings.grid_width, settings.grid_height
        )
        if (lane >> 1) < inside:
            scatter_pair(arrays.grad_feature_grid, 0, cells, scale, colours, own)

    return draw_group, scatter_group


@cache
def make_wide_gradients(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(the first part of a step, as a device function; threads per block)."""
    warps = hidden // UNITS
    threads = warps * WARP
    network = make_wide_network(hidden, layers)
    weight_words, floats = network.weight_words, network.floats
    draw_group, scatter_group = make_ends(channels, deterministic)
    buffer_shape, ends_shape = (GROUPS, warps, WARP, WORDS), (warps, WARP, 2)
    all_words, all_samples = 2 * GROUPS * GROUP_WORDS, 2 * BLOCK_SAMPLES
    deltas_shape = GROUPS, WARP, 2

    @cuda.jit(device=True)
    def gradients(arrays, step, settings):
        """Add all gradients of one step. arrays: `FusedArrays`. step: int64, from 1.

        Returns the sum of squared errors that this thread has seen.
        """
        first_buffer = cuda.shared.array(buffer_shape, uint32, alignment=16)
        second_buffer = cuda.shared.array(buffer_shape, uint32, alignment=16)
        transposed = cuda.shared.array(buffer_shape, uint32, alignment=16)
        delta_buffer = cuda.shared.array(buffer_shape, uint32, alignment=16)
        last_words = cuda.shared.array(ends_shape, uint32, alignment=8)
        first_words_back = cuda.shared.array(ends_shape, uint32, alignment=8)
        output_deltas = cuda.shared.array(deltas_shape, uint32, alignment=8)
        rows = cuda.shared.array(all_words, uint32, alignment=16)
        colours = cuda.shared.array((all_samples, 4), float32, alignment=16)
        uv = cuda.shared.array((all_samples, 2), float32)
        weights = cuda.local.array(weight_words, uint32)
        activations = cuda.local.array(WORDS, uint32)
        sums = cuda.local.array(floats, float32)
        deltas = cuda.local.array(WORDS, uint32)
        features = cuda.local.array(WORDS, uint32)
        totals = cuda.local.array(8, float32)
        samples = uv, colours, rows

        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        drawing = warp & 1  # the group of warps 2 and 3
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        network.load_weights(arrays.weights, warp, lane, weights, last_words, first_words_back)
        for n in range(floats):
            sums[n] = float32(0)
        first, turn = BLOCK_SAMPLES * int32(cuda.blockIdx.x), int32(0)
        if (warp >> 1) == 1:
            draw_group(arrays, first + GROUP * drawing, step, settings, drawing, lane, samples)
        # All warps read the first samples, and the two matrices at the ends.
        cuda.syncthreads()
        while first < settings.batch:
            after = first + BLOCK_SAMPLES * int32(cuda.gridDim.x)
            place = GROUPS * turn

            for group in range(GROUPS):
                read_words(rows, GROUP_WORDS * (place + group), lane, features)
                network.forward_first(features, weights, totals)
                relu_to(totals, activations)
                write_words(first_buffer, group, warp, lane, activations)
                if layers == 2:
                    write_transposed(transposed, group, warp, lane, activations)
            # A unit of the next layer needs all units of this one.
            cuda.syncthreads()
            if layers == 2:
                for group in range(GROUPS):
                    network.forward_middle(first_buffer, group, lane, weights, totals)
                    relu_to(totals, activations)
                    write_words(second_buffer, group, warp, lane, activations)
                # So do the outputs.
                cuda.syncthreads()

            if warp < GROUPS:
                last_buffer = second_buffer if layers == 2 else first_buffer
                network.forward_last(last_buffer, last_words, warp, lane, totals)
                upper, lower, error = output_delta(
                    totals, colours, place + warp, lane, settings.batch - first - GROUP * warp
                )
                output_deltas[warp, lane, 0], output_deltas[warp, lane, 1] = upper, lower
                squared_error += error
            elif (warp >> 1) == 1:
                draw_group(
                    arrays, after + GROUP * drawing, step, settings,
                    GROUPS * (1 - turn) + drawing, lane, samples,
                )  # fmt: skip
            # All warps need the outputs' deltas; and those who read the last buffer are done.
            cuda.syncthreads()

            for group in range(GROUPS):
                last_buffer = second_buffer if layers == 2 else first_buffer
                read_own_words(last_buffer, group, warp, lane, activations)
                network.backward_last(
                    output_deltas[group, lane, 0], output_deltas[group, lane, 1], weights,
                    activations, sums, deltas, totals,
                )  # fmt: skip
                # Nobody else reads the activations that were in the second buffer any more.
                buffer = second_buffer if layers == 2 else delta_buffer
                write_words(buffer, group, warp, lane, deltas)
            if layers == 2:
                # A delta of the first layer needs all deltas of the second.
                cuda.syncthreads()
            for group in range(GROUPS):
                buffer = second_buffer if layers == 2 else delta_buffer
                read_own_words(buffer, group, warp, lane, deltas)
                if layers == 2:
                    network.gradient_middle(deltas, transposed, group, lane, sums)
                    read_own_words(first_buffer, group, warp, lane, activations)
                    network.backward_middle(
                        second_buffer, group, lane, weights, activations, deltas, totals
                    )
                    write_words(delta_buffer, group, warp, lane, deltas)
                read_words(rows, GROUP_WORDS * (place + group), lane, features)
                network.gradient_first(deltas, features, sums)
            # The features' gradients need all deltas of the first layer. What the next samples
            # write meanwhile, nobody reads any more.
            cuda.syncthreads()

            if warp < GROUPS:
                network.backward_first(delta_buffer, first_words_back, warp, lane, totals)
                scatter_group(
                    arrays, settings, totals, place + warp, lane, scale,
                    settings.batch - first - GROUP * warp, samples,
                )  # fmt: skip
            first, turn = after, 1 - turn
        # Blocks without samples have no row.
        if cuda.blockIdx.x * BLOCK_SAMPLES < settings.batch:
            base = cuda.blockIdx.x * arrays.weights.shape[0]
            network.write(sums, scale, warp, lane, arrays.grad_weights, base)
        return squared_error

    return gradients, threads


@cache
def make_train_wide(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network; compute capability 9.0.

    The kernel's arguments are those of `persistent_two_barriers.make_train`'s.
    """
    gradients, threads = make_wide_gradients(hidden, layers, deterministic, channels)
    fused = with_gradients(gradients, threads, deterministic, channels)
    return make_train(fused, REGISTERS), threads


# ---------------------------------------------------------------- painting


@cache
def make_paint_wide(hidden, layers, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network. Arguments: as of `make_paint`'s."""
    warps = hidden // UNITS
    threads = warps * WARP
    network, encode_pair = make_wide_network(hidden, layers), make_encode_pair(channels)
    weight_words = network.weight_words
    buffer_shape, ends_shape = (GROUPS, warps, WARP, WORDS), (warps, WARP, 2)
    all_words = GROUPS * GROUP_WORDS

    @cuda.jit(device=True)
    def encode_pixels(feature_grid, grid_size, first, width, height, group, lane, rows):
        """16 pixels' centres; one warp. grid_size: (width, height)."""
        u, v = pixel_centre(int32(first + (lane >> 1)), width, height)
        cells = texels_of_side(u, v, lane & 1, grid_size[0], grid_size[1])
        values = load_side(feature_grid, cells)
        encode_pair(
            values, cells, u, v, grid_size[0], grid_size[1], lane, rows, GROUP_WORDS * group
        )

    @cuda.jit(device=True)
    def write_colours(totals, lane, first, pixels, colours):
        """From the outputs' own fragments: lanes of columns 0 and 1 have the colours."""
        channel = 2 * (lane & 3)
        for half in range(2):
            pixel = first + (lane >> 2) + 8 * half
            if pixel < pixels and channel < COLOURS:
                colours[pixel * COLOURS + channel] = sigmoid(totals[2 * half])
                if channel + 1 < COLOURS:
                    colours[pixel * COLOURS + channel + 1] = sigmoid(totals[2 * half + 1])

    @fast_math(REGISTERS)
    def paint(feature_grid, weights, grid_width, grid_height, colours, width, height):
        """colours (width * height * 3,) float32 in [0, 1]: the network at each pixel's centre."""
        first_buffer = cuda.shared.array(buffer_shape, uint32, alignment=16)
        second_buffer = cuda.shared.array(buffer_shape, uint32, alignment=16)
        last_words = cuda.shared.array(ends_shape, uint32, alignment=8)
        first_words_back = cuda.shared.array(ends_shape, uint32, alignment=8)
        rows = cuda.shared.array(all_words, uint32, alignment=16)
        own_weights = cuda.local.array(weight_words, uint32)
        words = cuda.local.array(WORDS, uint32)
        totals = cuda.local.array(8, float32)
        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        pixels = width * height
        network.load_weights(weights, warp, lane, own_weights, last_words, first_words_back)
        stride = cuda.gridDim.x * BLOCK_SAMPLES
        for first in range(cuda.blockIdx.x * BLOCK_SAMPLES, pixels, stride):
            if warp < GROUPS:
                encode_pixels(
                    feature_grid, (grid_width, grid_height), first + GROUP * warp, width, height,
                    warp, lane, rows,
                )  # fmt: skip
            # Everyone reads what some warps have written, here and after each layer.
            cuda.syncthreads()
            for group in range(GROUPS):
                read_words(rows, GROUP_WORDS * group, lane, words)
                network.forward_first(words, own_weights, totals)
                relu_to(totals, words)
                write_words(first_buffer, group, warp, lane, words)
            cuda.syncthreads()
            if layers == 2:
                for group in range(GROUPS):
                    network.forward_middle(first_buffer, group, lane, own_weights, totals)
                    relu_to(totals, words)
                    write_words(second_buffer, group, warp, lane, words)
                cuda.syncthreads()
            if warp < GROUPS:
                last_buffer = second_buffer if layers == 2 else first_buffer
                network.forward_last(last_buffer, last_words, warp, lane, totals)
                write_colours(totals, lane, first + GROUP * warp, pixels, colours)
            # With one layer its buffer is written again at once.
            if layers == 1:
                cuda.syncthreads()

    return paint, threads
