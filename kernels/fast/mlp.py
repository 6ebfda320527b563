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
all warps have put there, 128 samples at a time, and no sums have to be exchanged. On the way back,
the deltas of a layer take the place of the activations one layer above, which nobody needs any
more: so they may be written while slower warps still read the deltas before.

Sizes must be known when a kernel is compiled, or arrays of registers would end up in memory.
Hence `make_mlp`, a function that makes the functions for one size of network.

Sources: the fully fused networks of Mueller et al., "Real-time Neural Radiance Caching for Path
Tracing", SIGGRAPH 2021; mixed precision, Micikevicius et al., ICLR 2018.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.config import COLOURS, FEATURES, OUTPUTS
from kernels.fast.products import (
    TILES,
    UNITS,
    WARP,
    make_activate,
    make_activate_only,
    make_backward_product,
    make_forward_product,
    make_mask,
    make_weight_gradient,
)
from kernels.fast.ptx import pack_halves
from kernels.fast.rows import (
    FEATURE_PITCH,
    hand_over,
    keep_features,
    load_delta,
    load_features,
    output_delta,
)

USED_OUTPUTS = 8  # of 16: the first three are colours, the others never move
FEATURE_TILES = FEATURES // UNITS
SHARED_BYTES = 48 * 1024


class Mlp(NamedTuple):
    """Device functions for one size of network, and what they need."""

    warps: int  # a block
    shape_words: int  # shared uint32 arrays: packed weights,
    shape_transposed: tuple  # transposed activations and deltas,
    shape_open_units: tuple  # and which ReLUs let through
    pack_weights: Callable
    forward_backward: Callable
    finish_gradient: Callable
    forward: Callable


def word_count(hidden, layers):
    """Words of shared memory that hold the weights, two to a word, rows 8 words apart in banks."""
    first = FEATURES // 2 * (hidden + UNITS)
    middle = (layers - 1) * hidden // 2 * (hidden + UNITS)
    return first + middle + hidden // 2 * USED_OUTPUTS


def transposed_tiles(hidden, layers):
    """Tiles of 8 units: features, all layers, place for the last deltas, deltas of the outputs."""
    return FEATURE_TILES + (layers + 1) * hidden // UNITS + 1


def shared_bytes(hidden, layers, warps):
    samples = warps * WARP
    transposed = transposed_tiles(hidden, layers) * UNITS * samples * 2
    # Rows, exchanged colours, open units; and a float a thread when weights are moved.
    by_thread = samples * 4 * (FEATURE_PITCH + COLOURS + TILES * layers + 1)
    return word_count(hidden, layers) * 4 + transposed + by_thread


def warps_that_fit(hidden, layers):
    """Warps of 32 samples that one block's shared memory can serve; 0 if the network is too large."""
    for warps in (4, 2, 1):
        if shared_bytes(hidden, layers, warps) <= SHARED_BYTES:
            return warps
    return 0


def make_pack(fan_in, fan_out, used, pitch, threads):
    """Copy one matrix into shared memory, two inputs' weights of a unit to a word."""
    items = fan_in // 2 * used
    rounds = (items + threads - 1) // threads

    @cuda.jit(device=True)
    def pack(weights, offset, words, first, thread):
        for i in range(rounds):
            item = thread + i * threads
            if items % threads == 0 or item < items:
                pair, unit = item // used, item % used
                at = offset + 2 * pair * fan_out + unit
                words[first + pair * pitch + unit] = pack_halves(weights[at], weights[at + fan_out])

    return pack


# ---------------------------------------------------------------- one size of network


@cache
def make_mlp(hidden, layers):
    """Device functions for `layers` hidden layers of `hidden` units (16, 32 or 64), as `Mlp`."""
    warps = warps_that_fit(hidden, layers)
    threads = warps * WARP
    tiles, blocks, pitch = hidden // UNITS, hidden // 16, hidden + UNITS
    all_tiles = transposed_tiles(hidden, layers)
    output_place = all_tiles - 1
    last_offset = FEATURES * hidden + (layers - 1) * hidden * hidden
    last_words = word_count(hidden, layers) - hidden // 2 * USED_OUTPUTS
    words_first, words_middle = FEATURES // 2 * pitch, hidden // 2 * pitch

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
        words, rows, exchange, transposed, open_units, target, inside, scale, gradient, base,
        begin, thread,
    ):  # fmt: skip
        """Take a warp's samples through the network and back; all warps of the block at once.

        A thread is one sample; `target` (three float32) and `inside` (or beyond the batch) are
        its own. All else is shared: words, the packed weights; rows (samples, FEATURE_PITCH)
        uint32, features as halves; exchange (samples, 3) float32, where the gradients of the
        first three features are left, without `scale`; transposed and open_units of the shapes in
        `Mlp`. gradient, float32 from `base` on, is set if `begin`, else added to, times `scale`.
        Returns the sum of squared errors of the sample. What is left to do is
        `finish_gradient`: the caller may send the features' gradients on their way before.
        """
        warp, lane = thread >> 5, thread & 31
        operand = cuda.local.array((TILES, blocks, 4), uint32)
        sums = cuda.local.array((TILES, tiles, 4), float32)

        load_features(rows, operand, warp, lane)
        keep_features(operand, transposed, warp, lane)
        forward_first(words, 0, lane, operand, sums)
        activate(sums, operand, open_units, 0, transposed, FEATURE_TILES, warp, lane)
        for layer in range(1, layers):
            forward_middle(words, words_first + (layer - 1) * words_middle, lane, operand, sums)
            place = FEATURE_TILES + layer * tiles
            activate(sums, operand, open_units, layer, transposed, place, warp, lane)
        forward_last(words, last_words, lane, operand, sums)
        hand_over(sums, exchange, warp, lane)
        # From fragments to rows and back: other lanes of the warp wrote what a lane reads.
        cuda.syncwarp()
        squared_error = output_delta(exchange, thread, target, inside, rows)
        cuda.syncwarp()
        load_delta(rows, operand, transposed, output_place, warp, lane)

        # Sums over samples need what all warps have put into shared memory.
        cuda.syncthreads()
        place = FEATURE_TILES + (layers - 1) * tiles
        gradient_last(
            transposed, place, output_place, warp, lane, scale, gradient, base + last_offset, begin
        )
        backward_last(words, last_words, lane, operand, sums)
        for step in range(layers - 1):
            layer = layers - 1 - step
            place = FEATURE_TILES + layer * tiles
            mask(sums, operand, open_units, layer, transposed, place + tiles, warp, lane)
            # Everyone must have written before anyone reads. Beyond this barrier nobody reads the
            # activations of this layer any more: the next deltas may take their place.
            cuda.syncthreads()
            offset = base + FEATURES * hidden + (layer - 1) * hidden * hidden
            gradient_middle(
                transposed, place - tiles, place + tiles, warp, lane, scale, gradient, offset, begin
            )
            backward_middle(words, words_first + (layer - 1) * words_middle, lane, operand, sums)
        mask(sums, operand, open_units, 0, transposed, FEATURE_TILES + tiles, warp, lane)
        backward_first(words, 0, lane, operand, sums)
        hand_over(sums, exchange, warp, lane)
        # For the rows that other lanes have written.
        cuda.syncwarp()
        return squared_error

    @cuda.jit(device=True)
    def finish_gradient(transposed, scale, gradient, base, begin, thread):
        """The gradient of the first matrix."""
        # Again everyone must have written before anyone reads.
        cuda.syncthreads()
        warp, lane = thread >> 5, thread & 31
        deltas = FEATURE_TILES + tiles
        gradient_first(transposed, 0, deltas, warp, lane, scale, gradient, base, begin)

    @cuda.jit(device=True)
    def forward(words, rows, exchange, thread):
        """Only the output sums, to exchange (samples, 3); a warp needs no other."""
        warp, lane = thread >> 5, thread & 31
        operand = cuda.local.array((TILES, blocks, 4), uint32)
        sums = cuda.local.array((TILES, tiles, 4), float32)

        load_features(rows, operand, warp, lane)
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
        (all_tiles, warps * TILES, WARP, 2),
        (layers, TILES, threads),
        pack_weights,
        forward_backward,
        finish_gradient,
        forward,
    )
