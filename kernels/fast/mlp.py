"""The network on tensor cores: 32 samples per warp, forward and backward, without leaving the chip.

    features, target (32 samples per warp)
        ->  gradients of all weights (of a block), of the grid's features (of each sample)

The idea is that of `tensor_core_forward`: the result of one layer, packed to 16 bits, has the very
layout that the next layer wants on its left side. So activations stay in registers from layer to
layer, and only weights come from shared memory. New is the backward pass.

Forward, operands are halves; where gradients are multiplied, they are bfloat16, whose exponents
reach as far as those of a float32. Sums are float32 always, and so are the weights that Adam
moves: each block packs a 16-bit copy of them once per step.

The gradient of a weight is a sum over samples, which different warps hold. They store activations
and deltas in shared memory, transposed, fragment by fragment: then any warp can multiply what all
warps have stored there, 128 samples at a time, and no sums have to be exchanged. Backward, a
layer's deltas overwrite the activations of the layer above, which are no longer needed; slower
warps may therefore still read the previous deltas.

Sizes must be known when a kernel is compiled, or arrays of registers would end up in memory.
Hence `make_...`: functions that make a function for one `NetworkSize`. They share these arrays of
shared memory, as one argument, `shared`:

    words         (size.words,) uint32: packed weights
    rows, staging                       features, and what leaves the network: see `products`
    transposed    size.transposed_shape uint32: activations and deltas of all warps
    relu_masks    size.relu_masks_shape uint32: which sums were above zero

`thread` is the number of the thread in its block.

Sources: the fully fused networks of Mueller et al., "Real-time Neural Radiance Caching for Path
Tracing", SIGGRAPH 2021; mixed precision, Micikevicius et al., ICLR 2018.
"""

from functools import cache

from numba import cuda, float32, uint32

from kernels.config import COLOURS, FEATURES, OUTPUTS
from kernels.fast.products import (
    load_features,
    load_output_delta,
    make_backward_products,
    make_forward_products,
    make_relu,
    make_store_columns,
    make_weight_gradients,
    store_output_delta,
    transpose_features,
)
from kernels.fast.ptx import pack_halves
from kernels.fast.sizes import FEATURE_TILES, SAMPLE_TILES, USED_OUTPUTS

# ---------------------------------------------------------------- weights


def make_pack_matrix(fan_in, fan_out, used, pitch, threads):
    """Copy one matrix into shared memory, two inputs' weights to one unit in each word."""
    items = fan_in // 2 * used
    rounds = (items + threads - 1) // threads

    @cuda.jit(device=True)
    def pack_matrix(weights, offset, words, first, thread):
        for i in range(rounds):
            item = thread + i * threads
            if items % threads == 0 or item < items:
                pair, unit = item // used, item % used
                weight = offset + 2 * pair * fan_out + unit
                words[first + pair * pitch + unit] = pack_halves(
                    weights[weight], weights[weight + fan_out]
                )

    return pack_matrix


@cache
def make_pack_weights(size):
    hidden, layers, threads = size.hidden, size.layers, size.threads
    first_weights, middle_weights = size.first_weights, size.middle_weights
    first_words, middle_words = size.first_words, size.middle_words
    weights_before_last, words_before_last = size.weights_before_last, size.words_before_last
    pack_first = make_pack_matrix(FEATURES, hidden, hidden, size.pitch, threads)
    pack_middle = make_pack_matrix(hidden, hidden, hidden, size.pitch, threads)
    pack_last = make_pack_matrix(hidden, OUTPUTS, USED_OUTPUTS, USED_OUTPUTS, threads)

    @cuda.jit(device=True)
    def pack_weights(weights, words, thread):
        """weights (n,) float32 -> words, their 16-bit copies. Needs a barrier afterwards."""
        pack_first(weights, 0, words, 0, thread)
        for layer in range(1, layers):
            offset = first_weights + (layer - 1) * middle_weights
            pack_middle(weights, offset, words, first_words + (layer - 1) * middle_words, thread)
        pack_last(weights, weights_before_last, words, words_before_last, thread)

    return pack_weights


# ---------------------------------------------------------------- forward only


@cache
def make_forward(size):
    layers, unit_tiles, k_blocks = size.layers, size.unit_tiles, size.k_blocks
    first_words, middle_words = size.first_words, size.middle_words
    words_before_last = size.words_before_last
    products, relu = make_forward_products(size), make_relu(unit_tiles)
    store_columns = make_store_columns(COLOURS)

    @cuda.jit(device=True)
    def forward(words, rows, staging, thread):
        """Only the output sums, to staging; a warp needs no other."""
        warp, lane = thread >> 5, thread & 31
        operand = cuda.local.array((SAMPLE_TILES, k_blocks, 4), uint32)
        sums = cuda.local.array((SAMPLE_TILES, unit_tiles, 4), float32)

        load_features(rows, operand, warp, lane)
        products.first(words, 0, lane, operand, sums)
        relu.apply(sums, operand)
        for layer in range(1, layers):
            products.middle(words, first_words + (layer - 1) * middle_words, lane, operand, sums)
            relu.apply(sums, operand)
        products.last(words, words_before_last, lane, operand, sums)
        store_columns(sums, staging, warp, lane)

    return forward


# ---------------------------------------------------------------- forward and backward


def make_forward_and_store(size):
    layers, unit_tiles, output_deltas = size.layers, size.unit_tiles, size.output_deltas
    first_words, middle_words = size.first_words, size.middle_words
    words_before_last = size.words_before_last
    products, relu = make_forward_products(size), make_relu(unit_tiles)
    store_columns = make_store_columns(COLOURS)

    @cuda.jit(device=True)
    def forward_and_store(shared, target, inside, operand, sums, thread):
        """`forward`, and all that the backward pass needs; leaves the outputs' deltas in operand.

        Returns the sum of squared errors of the sample.
        """
        words, rows, staging, transposed, relu_masks = shared
        warp, lane = thread >> 5, thread & 31
        load_features(rows, operand, warp, lane)
        transpose_features(operand, transposed, warp, lane)
        products.first(words, 0, lane, operand, sums)
        relu.apply_and_store(sums, operand, relu_masks, 0, transposed, FEATURE_TILES, warp, lane)
        for layer in range(1, layers):
            products.middle(words, first_words + (layer - 1) * middle_words, lane, operand, sums)
            activations = FEATURE_TILES + layer * unit_tiles
            relu.apply_and_store(
                sums, operand, relu_masks, layer, transposed, activations, warp, lane
            )
        products.last(words, words_before_last, lane, operand, sums)
        store_columns(sums, staging, warp, lane)
        # From fragments to rows and back: other lanes of the warp wrote what a lane reads.
        cuda.syncwarp()
        squared_error = store_output_delta(staging, thread, target, inside, rows)
        cuda.syncwarp()
        load_output_delta(rows, operand, transposed, output_deltas, warp, lane)
        return squared_error

    return forward_and_store


def make_backward(size):
    layers, unit_tiles, output_deltas = size.layers, size.unit_tiles, size.output_deltas
    first_words, middle_words = size.first_words, size.middle_words
    words_before_last = size.words_before_last
    products, relu = make_backward_products(size), make_relu(unit_tiles)
    gradients, store_columns = make_weight_gradients(size), make_store_columns(size.channels)

    @cuda.jit(device=True)
    def backward(shared, operand, sums, weight_sums, thread):
        """All gradients but that of the first matrix; those of the grid's go to staging."""
        words, _, staging, transposed, relu_masks = shared
        warp, lane = thread >> 5, thread & 31
        # Sums over samples need what all warps have put into shared memory.
        cuda.syncthreads()
        activations = FEATURE_TILES + (layers - 1) * unit_tiles
        gradients.add_last(transposed, activations, output_deltas, warp, lane, weight_sums)
        products.last(words, words_before_last, lane, operand, sums)
        for step in range(layers - 1):
            layer = layers - 1 - step
            activations = FEATURE_TILES + layer * unit_tiles
            deltas = activations + unit_tiles
            relu.backward(sums, operand, relu_masks, layer, transposed, deltas, warp, lane)
            # Everyone must have written before anyone reads. Beyond this barrier nobody reads the
            # activations of this layer any more: the next deltas may overwrite them.
            cuda.syncthreads()
            gradients.add_middle(
                layer, transposed, activations - unit_tiles, deltas, warp, lane, weight_sums
            )
            products.middle(words, first_words + (layer - 1) * middle_words, lane, operand, sums)
        deltas = FEATURE_TILES + unit_tiles
        relu.backward(sums, operand, relu_masks, 0, transposed, deltas, warp, lane)
        products.first(words, 0, lane, operand, sums)
        store_columns(sums, staging, warp, lane)
        # For the rows that other lanes have written.
        cuda.syncwarp()

    return backward


@cache
def make_forward_backward(size):
    unit_tiles, k_blocks = size.unit_tiles, size.k_blocks
    forward_and_store, backward = make_forward_and_store(size), make_backward(size)

    @cuda.jit(device=True)
    def forward_backward(shared, target, inside, weight_sums, thread):
        """Take a warp's samples through the network and back; all warps of the block at once.

        One thread is one sample; `target` (three float32) and `inside` (or beyond the batch) are
        its own. staging receives the gradients of the grid's features, without their scale.
        weight_sums: the lane's part of the weights' gradients so far, see `make_weight_gradients`.
        Returns the sum of squared errors of the sample. What is left to do is `finish_gradient`:
        the caller may send the features' gradients on their way before.
        """
        operand = cuda.local.array((SAMPLE_TILES, k_blocks, 4), uint32)
        sums = cuda.local.array((SAMPLE_TILES, unit_tiles, 4), float32)
        squared_error = forward_and_store(shared, target, inside, operand, sums, thread)
        backward(shared, operand, sums, weight_sums, thread)
        return squared_error

    return forward_backward


@cache
def make_finish_gradient(size):
    deltas, gradients = FEATURE_TILES + size.unit_tiles, make_weight_gradients(size)

    @cuda.jit(device=True)
    def finish_gradient(shared, weight_sums, thread):
        """The gradient of the first matrix."""
        _, _, _, transposed, _ = shared
        # Again everyone must have written before anyone reads.
        cuda.syncthreads()
        gradients.add_first(transposed, 0, deltas, thread >> 5, thread & 31, weight_sums)

    return finish_gradient
