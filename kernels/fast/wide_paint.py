"""Painting with a wide network, of which every warp owns 16 units: 32 pixels at a time."""

from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.fast_math import fast_math
from kernels.fast.large_batch import GROUP_WORDS
from kernels.fast.pair_samples import cells_of_side, make_encode, read_words, values_of
from kernels.fast.sizes import WARP
from kernels.fast.warp_network import GROUP
from kernels.fast.wide import BLOCK_SAMPLES, REGISTERS
from kernels.fast.wide_network import (
    GROUPS,
    UNITS,
    WORDS,
    make_wide_network,
    relu_to,
    write_words,
)
from kernels.field_math import pixel_centre, sigmoid


@cache
def make_paint_wide(hidden, layers, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network. Arguments: as of `make_paint`'s."""
    warps = hidden // UNITS
    threads = warps * WARP
    network = make_wide_network(hidden, layers)
    weight_words, load_weights = network.weight_words, network.load_weights
    forward_first, forward_middle = network.forward_first, network.forward_middle
    forward_last, encode = network.forward_last, make_encode(channels)
    board_shape, ends_shape = (GROUPS, warps, WARP, WORDS), (warps, WARP, 2)
    all_words = GROUPS * GROUP_WORDS

    @cuda.jit(device=True)
    def encode_pixels(feature_grid, grid_size, first, width, height, group, lane, rows):
        """16 pixels' centres; one warp. grid_size: (width, height)."""
        sample, side = lane >> 1, lane & 1
        u, v = pixel_centre(int32(first + sample), width, height)
        cells = cells_of_side(u, v, side, grid_size[0], grid_size[1])
        values = values_of(feature_grid, cells)
        encode(
            values, u, v, sample, side, grid_size[0], grid_size[1], cells, rows,
            GROUP_WORDS * group,
        )  # fmt: skip

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
        first_board = cuda.shared.array(board_shape, uint32, alignment=16)
        second_board = cuda.shared.array(board_shape, uint32, alignment=16)
        last_words = cuda.shared.array(ends_shape, uint32, alignment=8)
        first_words_back = cuda.shared.array(ends_shape, uint32, alignment=8)
        rows = cuda.shared.array(all_words, uint32, alignment=16)
        own_weights = cuda.local.array(weight_words, uint32)
        words = cuda.local.array(WORDS, uint32)
        totals = cuda.local.array(8, float32)
        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        pixels = width * height
        load_weights(weights, warp, lane, own_weights, last_words, first_words_back)
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
                forward_first(words, own_weights, totals)
                relu_to(totals, words)
                write_words(first_board, group, warp, lane, words)
            cuda.syncthreads()
            if layers == 2:
                for group in range(GROUPS):
                    forward_middle(first_board, group, lane, own_weights, totals)
                    relu_to(totals, words)
                    write_words(second_board, group, warp, lane, words)
                cuda.syncthreads()
            if warp < GROUPS:
                last_board = second_board if layers == 2 else first_board
                forward_last(last_board, last_words, warp, lane, totals)
                write_colours(totals, lane, first + GROUP * warp, pixels, colours)
            # With one layer its board is written again at once.
            if layers == 1:
                cuda.syncthreads()

    return paint, threads
