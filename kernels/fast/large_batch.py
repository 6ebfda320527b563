"""The whole training in one kernel, for large batches: every warp works by itself.

`persistent` with another first part of the step. There the four warps of a block share what they
have computed, and wait for each other several times per tile of samples. That keeps the way of one
tile short. With a batch of many tiles it is not the way of one that counts, but how many are under
way. So here a warp takes 16 samples at a time along the whole way by itself:

    draw, encode (`pair_samples`)  ->  forward, backward (`warp_products`)  ->  scatter
                                           |
                                           +->  sums of the weights' gradients (`warp_gradients`)

Between two barriers of the whole GPU no warp waits for another. While one waits for its texels or
its cells, the others compute. The weights' gradients stay in registers until the last sample.
"""

from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.block_samples import both_sides, texels
from kernels.fast.pair_samples import (
    ROW_WORDS,
    cells_of_side,
    draw,
    make_encode,
    make_scatter,
    read_words,
    values_of,
)
from kernels.fast.persistent import make_train_of
from kernels.fast.sizes import WARP
from kernels.fast.warp_gradients import BUFFERS, make_warp_gradients
from kernels.fast.warp_network import GROUP, output_delta, store_feature_gradients, thread_words
from kernels.fast.warp_products import make_warp_products
from kernels.fast.weight_tiles import make_weight_of, pack_tile, tile_numbers

# One block fills a processor: 16 warps with 128 registers per thread are all 65,536 of them. The
# fewer blocks there are, the fewer wait at a barrier, and the fewer sums are to be added.
WARPS, REGISTERS = 16, 128
THREADS = WARPS * WARP
BLOCK_SAMPLES = WARPS * GROUP  # that a block takes at once
GROUP_WORDS = GROUP * ROW_WORDS  # of a warp's features


def large_batch_fits(hidden, layers):
    """Whether a warp's registers can hold such a network's sums: 32 units, 2 layers; or 16, 4."""
    return hidden * layers <= 64 and hidden <= 32


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
    products = make_warp_products(hidden)
    product_first, product_middle, product_last = products.first, products.middle, products.last
    product_back_last, product_back_middle = products.back_last, products.back_middle
    product_back_first, activate, mask = products.back_first, products.activate, products.mask
    gradients = make_warp_gradients(hidden, layers, WARPS)
    add_first, add_middle, add_last = gradients.add_first, gradients.add_middle, gradients.add_last

    @cuda.jit(device=True)
    def network(
        rows, forward_words, backward_words, colours, words, totals, sums, warp, lane, inside
    ):
        """Adds the weights' gradients to `sums`; leaves those of the first features in `colours`.

        rows: the block's features, (WARPS * GROUP_WORDS,) uint32. forward_words, backward_words:
        packed weights, (tiles, 32, 2) uint32. colours: (samples of the block, 4) float32, the
        targets. words, totals, sums: the lane's own; see `thread_words`, `WarpGradients`. inside:
        how many of the 16 samples belong to the batch. Returns the sum of squared errors.
        """
        features = cuda.local.array(4, uint32)
        read_words(rows, GROUP_WORDS * warp, lane, words)
        product_first(forward_words, 0, lane, words, totals)
        for layer in range(1, layers):
            activate(totals, words, layer - 1)
            first = numbers.first_middle + (layer - 1) * numbers.middle
            product_middle(forward_words, first, lane, words, totals)
        activate(totals, words, layers - 1)
        product_last(forward_words, numbers.first_last, lane, words, totals)
        upper, lower, squared_error = output_delta(totals, colours, warp, lane, inside)

        add_last(upper, lower, words, kept + 2 * (layers - 1) * unit_tiles, sums)
        words[0], words[1], words[2], words[3] = upper, lower, uint32(0), uint32(0)
        product_back_last(backward_words, numbers.first_last, lane, words, totals)
        for back in range(layers - 1):
            layer = layers - 1 - back
            mask(totals, words, layer)
            add_middle(layer, words, words, kept + 2 * (layer - 1) * unit_tiles, sums)
            first = numbers.first_middle + (layer - 1) * numbers.middle
            product_back_middle(backward_words, first, lane, words, totals)
        mask(totals, words, 0)
        read_words(rows, GROUP_WORDS * warp, lane, features)
        add_first(words, features, sums)
        product_back_first(backward_words, 0, lane, words, totals)

        # Other lanes have read the targets on the way forward.
        cuda.syncwarp()
        store_feature_gradients(totals, colours, warp, lane)
        return squared_error

    return network


@cache
def make_large_batch_gradients(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """The first part of a step, as a device function for blocks of `THREADS` threads."""
    network = make_network(hidden, layers)
    pack_weights = make_pack_weights(hidden, layers)
    encode, scatter = make_encode(channels), make_scatter(channels, deterministic)
    weight_gradients = make_warp_gradients(hidden, layers, WARPS)
    floats, write_weight_gradients = weight_gradients.floats, weight_gradients.write
    words_kept, sums_kept = thread_words(hidden, layers), hidden // 2
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

        thread = cuda.threadIdx.x & (THREADS - 1)  # never negative: see `products`
        warp, lane = int32(thread >> 5), int32(thread & 31)
        sample, side = int32(lane >> 1), int32(lane & 1)
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
            u, v = draw(first + sample, step, settings)
            cells = cells_of_side(u, v, side, settings.grid_width, settings.grid_height)
            # Both are asked for before either is waited for.
            asked = texels(arrays.image, u, v, side, settings)
            values = values_of(arrays.feature_grid, cells)
            encode(
                values, u, v, sample, side, settings.grid_width, settings.grid_height, cells, rows,
                row,
            )  # fmt: skip
            red, green, blue = both_sides(*asked)
            if side == 0:
                colours[own, 0], colours[own, 1] = red, green
            else:
                colours[own, 2], colours[own, 3] = blue, float32(0)
            # Other lanes of the warp have written what a lane reads.
            cuda.syncwarp()
            squared_error += network(
                rows, forward_words, backward_words, colours, words, totals, sums, warp, lane,
                settings.batch - first,
            )  # fmt: skip
            cuda.syncwarp()
            if first + sample < settings.batch:
                scatter(arrays.grad_feature_grid, cells, scale, colours, own)
            # The next samples' colours go where these gradients are.
            cuda.syncwarp()
            first = int32(first + GROUP * WARPS * int32(cuda.gridDim.x))
        # Blocks without samples have no row.
        if cuda.blockIdx.x * samples < settings.batch:
            base = cuda.blockIdx.x * arrays.weights.shape[0]
            write_weight_gradients(sums, scale, warp, lane, all_sums, arrays.grad_weights, base)
        return squared_error

    return gradients


@cache
def make_train_large_batch(hidden, layers, deterministic=False, channels=GRID_CHANNELS):
    """(kernel, threads per block) for one size of network; compute capability 9.0.

    The kernel's arguments are those of `persistent.make_train`'s.
    """
    gradients = make_large_batch_gradients(hidden, layers, deterministic, channels)
    return make_train_of(gradients, THREADS, REGISTERS, deterministic, channels), THREADS
