"""The whole training in one kernel, for networks of 128 units: every warp owns 16 of them.

`persistent` with another first part of the step, for networks whose weights do not fit twice into
shared memory; the idea is told in `wide_network`. A block takes 32 samples at a time, two groups:

    warps 2 and 3   draw the next samples                              (`pair_samples`)
    all             own units of layer 1        -> board
    all             own units of layer 2        -> board
    warps 0 and 1   outputs, their deltas       -> shared memory
    all             own deltas of layer 2       -> board
    all             own deltas of layer 1       -> board;  gradients of own weights
    warps 0 and 1   gradients of the features   -> cells of the grid

A *board* is shared memory where each warp writes its units and reads those of all. Between two of
these lines all warps wait, but before the first and the last: what is drawn is needed later, and
the cells are needed by nobody.
"""

from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.block_samples import both_sides, texels
from kernels.fast.large_batch import GROUP_WORDS
from kernels.fast.pair_samples import (
    cells_of_side,
    draw,
    make_encode,
    make_scatter,
    read_words,
    values_of,
)
from kernels.fast.persistent import make_train_of
from kernels.fast.sizes import WARP
from kernels.fast.warp_network import GROUP, output_delta, store_feature_gradients
from kernels.fast.wide_network import (
    GROUPS,
    UNITS,
    WORDS,
    make_wide_network,
    read_own_words,
    relu_to,
    write_transposed,
    write_words,
)

WIDE = 128  # units
BLOCK_SAMPLES = GROUPS * GROUP  # that a block takes at once
REGISTERS = 248  # per thread: nearly all that an instruction can name


def wide_fits(hidden, layers):
    """Whether the kernel is made for such a network: 128 units, 1 or 2 layers."""
    return hidden == WIDE and layers <= 2


def make_draw_group(channels):
    """16 samples, by one warp: their colours and features into shared memory."""
    encode = make_encode(channels)

    @cuda.jit(device=True)
    def draw_group(arrays, first, step, settings, turn, group, lane, uv, colours, rows):
        """first: the group's first sample. turn: 0 or 1, of the two halves of each array."""
        sample, side = lane >> 1, lane & 1
        place = GROUPS * turn + group
        own = GROUP * place + sample
        u, v = draw(first + sample, step, settings)
        cells = cells_of_side(u, v, side, settings.grid_width, settings.grid_height)
        # Both are asked for before either is waited for.
        asked = texels(arrays.image, u, v, side, settings)
        values = values_of(arrays.feature_grid, cells)
        encode(
            values, u, v, sample, side, settings.grid_width, settings.grid_height, cells, rows,
            GROUP_WORDS * place,
        )  # fmt: skip
        red, green, blue = both_sides(*asked)
        if side == 0:
            uv[own, 0], colours[own, 0], colours[own, 1] = u, red, green
        else:
            uv[own, 1], colours[own, 2], colours[own, 3] = v, blue, float32(0)

    return draw_group


@cache
def make_wide_gradients(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(the first part of a step, as a device function; threads per block)."""
    warps = hidden // UNITS
    threads = warps * WARP
    network = make_wide_network(hidden, layers)
    weight_words, floats = network.weight_words, network.floats
    load_weights, write_weight_gradients = network.load_weights, network.write
    forward_first, forward_middle = network.forward_first, network.forward_middle
    forward_last, backward_last = network.forward_last, network.backward_last
    backward_middle, backward_first = network.backward_middle, network.backward_first
    gradient_first, gradient_middle = network.gradient_first, network.gradient_middle
    draw_group, scatter = make_draw_group(channels), make_scatter(channels, deterministic)
    board_shape, ends_shape = (GROUPS, warps, WARP, WORDS), (warps, WARP, 2)
    all_words, all_samples = 2 * GROUPS * GROUP_WORDS, 2 * BLOCK_SAMPLES
    deltas_shape = GROUPS, WARP, 2

    @cuda.jit(device=True)
    def scatter_group(arrays, settings, totals, turn, group, lane, scale, inside, uv, colours):
        """Gradients of features -> cells; one warp. Where the targets were is room for them."""
        place, sample, side = GROUPS * turn + group, lane >> 1, lane & 1
        store_feature_gradients(totals, colours, place, lane)
        # Other lanes of the warp have written what a lane reads.
        cuda.syncwarp()
        own = GROUP * place + sample
        cells = cells_of_side(
            uv[own, 0], uv[own, 1], side, settings.grid_width, settings.grid_height
        )
        if sample < inside:
            scatter(arrays.grad_feature_grid, cells, scale, colours, own)

    @cuda.jit(device=True)
    def gradients(arrays, step, settings):
        """Add all gradients of one step. arrays: `FusedArrays`. step: int64, from 1.

        Returns the sum of squared errors that this thread has seen.
        """
        first_board = cuda.shared.array(board_shape, uint32, alignment=16)
        second_board = cuda.shared.array(board_shape, uint32, alignment=16)
        transposed = cuda.shared.array(board_shape, uint32, alignment=16)
        delta_board = cuda.shared.array(board_shape, uint32, alignment=16)
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

        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        drawing = warp & 1  # the group of warps 2 and 3
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        load_weights(arrays.weights, warp, lane, weights, last_words, first_words_back)
        for n in range(floats):
            sums[n] = float32(0)
        first, turn = BLOCK_SAMPLES * int32(cuda.blockIdx.x), int32(0)
        if (warp >> 1) == 1:
            draw_group(
                arrays, first + GROUP * drawing, step, settings, 0, drawing, lane, uv, colours, rows
            )
        # All warps read the first samples, and the two matrices at the ends.
        cuda.syncthreads()
        while first < settings.batch:
            after = first + BLOCK_SAMPLES * int32(cuda.gridDim.x)
            place = GROUPS * turn

            for group in range(GROUPS):
                read_words(rows, GROUP_WORDS * (place + group), lane, features)
                forward_first(features, weights, totals)
                relu_to(totals, activations)
                write_words(first_board, group, warp, lane, activations)
                if layers == 2:
                    write_transposed(transposed, group, warp, lane, activations)
            # A unit of the next layer needs all units of this one.
            cuda.syncthreads()
            if layers == 2:
                for group in range(GROUPS):
                    forward_middle(first_board, group, lane, weights, totals)
                    relu_to(totals, activations)
                    write_words(second_board, group, warp, lane, activations)
                # So do the outputs.
                cuda.syncthreads()

            if warp < GROUPS:
                last_board = second_board if layers == 2 else first_board
                forward_last(last_board, last_words, warp, lane, totals)
                upper, lower, error = output_delta(
                    totals, colours, place + warp, lane, settings.batch - first - GROUP * warp
                )
                output_deltas[warp, lane, 0], output_deltas[warp, lane, 1] = upper, lower
                squared_error += error
            elif (warp >> 1) == 1:
                draw_group(
                    arrays, after + GROUP * drawing, step, settings, 1 - turn, drawing, lane, uv,
                    colours, rows,
                )  # fmt: skip
            # All warps need the outputs' deltas; and those who read the last board are done.
            cuda.syncthreads()

            for group in range(GROUPS):
                last_board = second_board if layers == 2 else first_board
                read_own_words(last_board, group, warp, lane, activations)
                backward_last(
                    output_deltas[group, lane, 0], output_deltas[group, lane, 1], weights,
                    activations, sums, deltas, totals,
                )  # fmt: skip
                # Nobody else reads the activations that were on the second board any more.
                board = second_board if layers == 2 else delta_board
                write_words(board, group, warp, lane, deltas)
            if layers == 2:
                # A delta of the first layer needs all deltas of the second.
                cuda.syncthreads()
            for group in range(GROUPS):
                board = second_board if layers == 2 else delta_board
                read_own_words(board, group, warp, lane, deltas)
                if layers == 2:
                    gradient_middle(deltas, transposed, group, lane, sums)
                    read_own_words(first_board, group, warp, lane, activations)
                    backward_middle(second_board, group, lane, weights, activations, deltas, totals)
                    write_words(delta_board, group, warp, lane, deltas)
                read_words(rows, GROUP_WORDS * (place + group), lane, features)
                gradient_first(deltas, features, sums)
            # The features' gradients need all deltas of the first layer. What the next samples
            # write meanwhile, nobody reads any more.
            cuda.syncthreads()

            if warp < GROUPS:
                backward_first(delta_board, first_words_back, warp, lane, totals)
                scatter_group(
                    arrays, settings, totals, turn, warp, lane, scale,
                    settings.batch - first - GROUP * warp, uv, colours,
                )  # fmt: skip
            first, turn = after, 1 - turn
        # Blocks without samples have no row.
        if cuda.blockIdx.x * BLOCK_SAMPLES < settings.batch:
            base = cuda.blockIdx.x * arrays.weights.shape[0]
            write_weight_gradients(sums, scale, warp, lane, arrays.grad_weights, base)
        return squared_error

    return gradients, threads


@cache
def make_train_wide(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network; compute capability 9.0.

    The kernel's arguments are those of `persistent.make_train`'s.
    """
    gradients, threads = make_wide_gradients(hidden, layers, deterministic, channels)
    return make_train_of(gradients, threads, REGISTERS, deterministic, channels), threads
