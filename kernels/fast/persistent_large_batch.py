"""The whole training in one kernel, for large batches: every warp works by itself.

The loop is that of `persistent_two_barriers`, with another first part of the step. There the four
warps of a block share what they have computed, and wait for each other several times per tile of
samples: one tile is done soon. With many tiles, throughput matters, not the latency of one tile.
New here: a warp takes 16 samples at a time along the whole way by itself.

    draw, encode (`sample`, two lanes)  ->  forward, backward (`warp_network`)  ->  scatter
                                                |
                                                +->  sums of the weights' gradients

Between two barriers of the whole GPU no warp waits for another. While one waits for its texels or
its cells, the others compute. The weights' gradients stay in a warp's registers, from sample to
sample. The gradient of a matrix is activations^T @ deltas, a sum over samples. So both factors are
needed the other way round: with pairs of neighbouring samples in a word, not of neighbouring units.
One instruction turns 8 x 8 numbers round between the lanes of a warp, and a warp needs neither
shared memory nor any other warp for it. A network of two layers of 32 units has 56 such sums per
lane. They are added up once per step, after all samples: warp after warp in shared memory, in an
order that never changes.
"""

from collections import namedtuple
from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.persistent_two_barriers import make_train, with_gradients
from kernels.fast.ptx import halves_to_bfloat16, multiply_bfloat16, transpose_8x8
from kernels.fast.sample import make_draw_pair, make_scatter_pair, read_words
from kernels.fast.sizes import FEATURE_TILES, FEATURE_WORDS, GROUP, WARP
from kernels.fast.warp_network import (
    make_warp_products,
    output_delta,
    store_feature_gradients,
    thread_words,
)
from kernels.fast.weight_tiles import make_weight_of, pack_tile, tile_numbers

# One block fills a processor: 16 warps with 128 registers per thread are all 65,536 of them. The
# fewer blocks there are, the fewer wait at a barrier, and the fewer sums are to be added.
WARPS, REGISTERS = 16, 128
THREADS = WARPS * WARP
BLOCK_SAMPLES = WARPS * GROUP  # that a block takes at once
GROUP_WORDS = GROUP * FEATURE_WORDS  # of a warp's features
TILE_FLOATS = 4  # sums of a lane per tile of 16 units x 8 inputs
OUTPUT_FLOATS = 2  # per tile of 8 outputs x 8 inputs
BUFFERS = 2  # of sums in shared memory: so many warps of a block add theirs at the same time


def large_batch_fits(hidden, layers):
    """Whether a warp's registers can hold such a network's sums: 32 units, 2 layers; or 16, 4."""
    return hidden * layers <= 64 and hidden <= 32


# ---------------------------------------------------------------- gradients of weights

# Device functions for one size of network. `floats`: sums that a lane keeps.
WarpGradients = namedtuple("WarpGradients", "floats add_first add_middle add_last write")


def make_add_tiles(unit_blocks, inputs):
    """sums += deltas^T @ activations, for `unit_blocks` x 16 units and `inputs` x 8 inputs."""
    turned_words = 2 * inputs

    @cuda.jit(device=True)
    def add_tiles(deltas, activations, first_activation, sums, first):
        """deltas: operand of the backward pass. activations: words of halves, from the first on."""
        turned = cuda.local.array(turned_words, uint32)
        for i in range(turned_words):
            turned[i] = transpose_8x8(halves_to_bfloat16(activations[first_activation + i]))
        for block in range(unit_blocks):
            w = 4 * block
            a0, a1 = transpose_8x8(deltas[w]), transpose_8x8(deltas[w + 2])
            a2, a3 = transpose_8x8(deltas[w + 1]), transpose_8x8(deltas[w + 3])
            for part in range(inputs):
                n = first + TILE_FLOATS * (block * inputs + part)
                add_tile(a0, a1, a2, a3, turned[2 * part], turned[2 * part + 1], sums, n)

    return add_tiles


@cuda.jit(device=True)
def add_tile(a0, a1, a2, a3, b0, b1, sums, n):
    sums[n], sums[n + 1], sums[n + 2], sums[n + 3] = multiply_bfloat16(
        a0, a1, a2, a3, b0, b1, sums[n], sums[n + 1], sums[n + 2], sums[n + 3]
    )


@cuda.jit(device=True)
def add_output_tile(a0, a2, activations, at, sums, n):
    """The same for the outputs: half a block of units; a0, a2: their deltas, turned."""
    b0 = transpose_8x8(halves_to_bfloat16(activations[at]))
    b1 = transpose_8x8(halves_to_bfloat16(activations[at + 1]))
    sums[n], sums[n + 1], _, _ = multiply_bfloat16(
        a0, uint32(0), a2, uint32(0), b0, b1, sums[n], sums[n + 1], float32(0), float32(0)
    )


@cache
def make_warp_gradients(hidden, layers):
    unit_tiles, unit_blocks = hidden // 8, hidden // 16
    numbers = tile_numbers(hidden, layers)
    first_middle, middle = TILE_FLOATS * numbers.first_middle, TILE_FLOATS * numbers.middle
    first_last = TILE_FLOATS * numbers.first_last
    floats = first_last + OUTPUT_FLOATS * unit_tiles
    tiles_first = make_add_tiles(unit_blocks, FEATURE_TILES)
    tiles_middle = make_add_tiles(unit_blocks, unit_tiles)
    weight_of = make_weight_of(hidden, layers)
    shift, turns = BUFFERS.bit_length() - 1, WARPS // BUFFERS
    rounds = (numbers.tiles + WARPS - 1) // WARPS

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
        a0, a2 = transpose_8x8(upper), transpose_8x8(lower)
        for part in range(unit_tiles):
            n = first_last + OUTPUT_FLOATS * part
            add_output_tile(a0, a2, activations, first_activation + 2 * part, sums, n)

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
            tile = warp + n * WARPS
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


# ---------------------------------------------------------------- the network


def make_pack_weights(hidden, layers):
    """Copies all weights into shared memory, in tiles, for products of both directions."""
    tiles = tile_numbers(hidden, layers).tiles
    rounds = (tiles + WARPS - 1) // WARPS
    weight_of = make_weight_of(hidden, layers)

    @cuda.jit(device=True)
    def pack_weights(weights, warp, lane, forward_words, backward_words):
        asked = cuda.local.array((rounds, 4), float32)
        for n in range(rounds):
            tile = warp + n * WARPS
            if tile < tiles:
                at, distance = weight_of(tile, lane)
                asked[n, 0], asked[n, 1] = weights[at], weights[at + distance]
                asked[n, 2], asked[n, 3] = weights[at + 8], weights[at + distance + 8]
        for n in range(rounds):
            tile = warp + n * WARPS
            if tile < tiles:
                pack_tile(
                    tile, lane, asked[n, 0], asked[n, 1], asked[n, 2], asked[n, 3],
                    forward_words, backward_words,
                )  # fmt: skip

    return pack_weights


@cache
def make_network(hidden, layers):
    """One warp's way through the network and back."""
    unit_tiles = hidden // 8
    numbers, kept = tile_numbers(hidden, layers), 4 * (hidden // 16)
    products, gradients = make_warp_products(hidden), make_warp_gradients(hidden, layers)

    @cuda.jit(device=True)
    def network(shared, mine, warp, lane, inside):
        """Adds the weights' gradients to `sums`; leaves those of the first features in `colours`.

        shared: the block's features, rows (WARPS * GROUP_WORDS,) uint32; forward_words,
        backward_words (tiles, 32, 2) uint32, packed weights; colours (samples, 4) float32, the
        targets. mine: words, totals, sums; see `thread_words`, `WarpGradients`. inside: how many of
        the 16 samples belong to the batch. Returns the sum of squared errors.
        """
        rows, forward_words, backward_words, colours = shared
        words, totals, sums = mine
        features = cuda.local.array(4, uint32)
        read_words(rows, GROUP_WORDS * warp, lane, words)
        products.first(forward_words, 0, lane, words, totals)
        for layer in range(1, layers):
            products.activate(totals, words, layer - 1)
            first = numbers.first_middle + (layer - 1) * numbers.middle
            products.middle(forward_words, first, lane, words, totals)
        products.activate(totals, words, layers - 1)
        products.last(forward_words, numbers.first_last, lane, words, totals)
        upper, lower, squared_error = output_delta(totals, colours, warp, lane, inside)

        gradients.add_last(upper, lower, words, kept + 2 * (layers - 1) * unit_tiles, sums)
        words[0], words[1], words[2], words[3] = upper, lower, uint32(0), uint32(0)
        products.back_last(backward_words, numbers.first_last, lane, words, totals)
        for back in range(layers - 1):
            layer = layers - 1 - back
            products.mask(totals, words, layer)
            gradients.add_middle(layer, words, words, kept + 2 * (layer - 1) * unit_tiles, sums)
            first = numbers.first_middle + (layer - 1) * numbers.middle
            products.back_middle(backward_words, first, lane, words, totals)
        products.mask(totals, words, 0)
        read_words(rows, GROUP_WORDS * warp, lane, features)
        gradients.add_first(words, features, sums)
        products.back_first(backward_words, 0, lane, words, totals)

        # Other lanes have read the targets on the way forward.
        cuda.syncwarp()
        store_feature_gradients(totals, colours, warp, lane)
        return squared_error

    return network


# ---------------------------------------------------------------- the first part of a step


@cache
def make_large_batch_gradients(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """The first part of a step, as a device function for blocks of `THREADS` threads."""
    network, pack_weights = make_network(hidden, layers), make_pack_weights(hidden, layers)
    draw_pair, scatter_pair = make_draw_pair(channels), make_scatter_pair(channels, deterministic)
    weight_gradients = make_warp_gradients(hidden, layers)
    floats, sums_kept = weight_gradients.floats, hidden // 2
    words_kept = thread_words(hidden, layers)
    tiles_shape = tile_numbers(hidden, layers).tiles, WARP, 2
    sums_shape = BUFFERS, floats // 4, WARP, 4
    all_words, samples = GROUP_WORDS * WARPS, BLOCK_SAMPLES

    @cuda.jit(device=True)
    def gradients(arrays, step, settings):
        """Add all gradients of one step. arrays: `FusedArrays`. step: int64, from 1.

        Returns the sum of squared errors that this thread has seen.
        """
        forward_words = cuda.shared.array(tiles_shape, uint32, alignment=8)
        backward_words = cuda.shared.array(tiles_shape, uint32, alignment=8)
        rows = cuda.shared.array(all_words, uint32, alignment=16)
        colours = cuda.shared.array((samples, 4), float32, alignment=16)
        all_sums = cuda.shared.array(sums_shape, float32, alignment=16)
        words = cuda.local.array(words_kept, uint32)
        totals = cuda.local.array(sums_kept, float32)
        sums = cuda.local.array(floats, float32)
        shared, mine = (rows, forward_words, backward_words, colours), (words, totals, sums)

        thread = cuda.threadIdx.x & (THREADS - 1)  # never negative: see `products`
        warp, lane = int32(thread >> 5), int32(thread & 31)
        sample = int32(lane >> 1)
        own, row = int32(GROUP * warp + sample), int32(GROUP_WORDS * warp)
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        pack_weights(arrays.weights, warp, lane, forward_words, backward_words)
        for n in range(floats):
            sums[n] = float32(0)
        # Every warp reads weights that others have packed.
        cuda.syncthreads()
        first = int32(GROUP * (int32(cuda.blockIdx.x) * WARPS + warp))
        while first < settings.batch:
            _, _, cells = draw_pair(
                arrays, first + sample, step, settings, lane, rows, row, colours, own
            )
            # Other lanes of the warp have written what a lane reads.
            cuda.syncwarp()
            squared_error += network(shared, mine, warp, lane, settings.batch - first)
            cuda.syncwarp()
            if first + sample < settings.batch:
                scatter_pair(arrays.grad_feature_grid, 0, cells, scale, colours, own)
            # The next samples' colours go where these gradients are.
            cuda.syncwarp()
            first = int32(first + GROUP * WARPS * int32(cuda.gridDim.x))
        # Blocks without samples have no row.
        if cuda.blockIdx.x * samples < settings.batch:
            base = cuda.blockIdx.x * arrays.weights.shape[0]
            weight_gradients.write(sums, scale, warp, lane, all_sums, arrays.grad_weights, base)
        return squared_error

    return gradients


@cache
def make_train_large_batch(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network; compute capability 9.0.

    The kernel's arguments are those of `persistent_two_barriers.make_train`'s.
    """
    gradients = make_large_batch_gradients(hidden, layers, deterministic, channels)
    return make_train(
        with_gradients(gradients, THREADS, deterministic, channels), REGISTERS
    ), THREADS
