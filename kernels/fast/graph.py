"""A training step in two kernels, many steps in one launch; and the kernel that paints.

    gradients:  seed, step, image, parameters  ->  gradient of the grid; of the weights, per block
    update:     gradients, Adam's state        ->  parameters

The idea: between the two parts every block must have finished, because Adam needs the sums of all
samples; within a part, no block needs another. So the whole GPU must wait twice per step and not
more often. The caller decides how blocks wait for each other: here they are two kernels, recorded
once as a CUDA graph of many steps and replayed (`kernels/plumbing/recording.py` says what `clock`
and `learning_rates` are; a step's first kernel copies the position, its last one advances it). In
`persistent_two_barriers` they meet at a barrier inside one kernel.

One thread takes one sample from its random numbers to its features (`sample`). Then its warp takes
32 samples through the network on tensor cores, and back (`mlp`). The second part is in `adam`.

Atomic additions end in a different order each time, and sums of floats depend on it. With
`deterministic`, the grid's gradients are added as integers, whose sums do not.
"""

from collections import namedtuple
from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.adam import make_cell_state, make_update
from kernels.fast.mlp import (
    make_finish_gradient,
    make_forward,
    make_forward_backward,
    make_pack_weights,
)
from kernels.fast.products import make_weight_gradients
from kernels.fast.sample import (
    corners,
    make_draw,
    make_encode_grid,
    make_encode_position,
    make_scatter,
)
from kernels.fast.sizes import FEATURE_PITCH, FEATURE_WORDS, WARP, fast_math, network_size
from kernels.field_math import pixel_centre, sigmoid
from kernels.plumbing.recording import FIRST_STEP, POSITION, SECOND_HALF

# ---------------------------------------------------------------- the two parts of a step

# Device functions: `draw` takes the block's first tile of samples, before `gradients`. `threads`
# per block, which are also its samples. `state`: see `make_cell_state`.
FusedStep = namedtuple("FusedStep", "threads draw gradients update state")


@cache
def make_fused_step(
    hidden, layers, deterministic=False, vector_atomics=True, channels=GRID_CHANNELS
):
    """`FusedStep` for one size of network.

    vector_atomics: whether the GPU adds four floats at once (compute capability 9.0). channels: of
    the grid, 3 or 4.
    """
    size = network_size(hidden, layers, channels)
    scatter = make_scatter(channels, deterministic, vector_atomics)
    return FusedStep(
        size.threads,
        make_draw(channels),
        make_gradients(size, scatter),
        make_update(size.threads, deterministic, channels),
        make_cell_state(channels),
    )


def make_gradients(size, scatter):
    """The first part. size: `NetworkSize`. scatter: what `make_scatter` makes."""
    threads = samples = size.threads
    columns, words_size = size.columns, size.words
    transposed_shape, relu_masks_shape = size.transposed_shape, size.relu_masks_shape
    draw, encode_grid = make_draw(size.channels), make_encode_grid(size.channels)
    pack_weights, forward_backward = make_pack_weights(size), make_forward_backward(size)
    finish_gradient, weight_gradients = make_finish_gradient(size), make_weight_gradients(size)
    floats = weight_gradients.floats

    @cuda.jit(device=True)
    def gradients(arrays, step, settings, drawn, features):
        """Add all gradients of one step. step: int64, from 1.

        drawn, features: this thread's of the block's first tile, from `draw`. Returns the sum of
        squared errors that this thread has seen.
        """
        words = cuda.shared.array(words_size, uint32)
        rows = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        staging = cuda.shared.array((samples, columns), float32)
        transposed = cuda.shared.array(transposed_shape, uint32, alignment=8)
        relu_masks = cuda.shared.array(relu_masks_shape, uint32)
        weight_sums = cuda.local.array(floats, float32)

        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `products`
        base = cuda.blockIdx.x * arrays.weights.shape[0]
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        for n in range(floats):
            weight_sums[n] = float32(0)
        encode_grid(arrays.feature_grid, drawn[2], features, rows, thread)
        pack_weights(arrays.weights, words, thread)
        stride = cuda.gridDim.x * samples
        first = cuda.blockIdx.x * samples
        shared = words, rows, staging, transposed, relu_masks
        while first < settings.batch:
            inside = first + thread < settings.batch
            # Weights are packed, rows are written, and all warps are done with the last tile.
            cuda.syncthreads()
            uv, target, _ = drawn
            squared_error += forward_backward(shared, target, inside, weight_sums, thread)
            # Additions take their time to arrive: they are sent off before the last products.
            if inside:
                scatter(
                    arrays.grad_feature_grid, uv, settings.grid_width, settings.grid_height, scale,
                    staging, thread,
                )  # fmt: skip
            finish_gradient(shared, weight_sums, thread)
            first += stride
            if first < settings.batch:
                drawn = draw(arrays, first, step, settings, features)
                encode_grid(arrays.feature_grid, drawn[2], features, rows, thread)
        # Blocks without samples have no row.
        if cuda.blockIdx.x * samples < settings.batch:
            weight_gradients.write(
                weight_sums, thread >> 5, thread & 31, scale, arrays.grad_weights, base
            )
        return squared_error

    return gradients


# ---------------------------------------------------------------- painting


@cache
def make_paint(size):
    """The kernel for one `NetworkSize`; launch it with `size.threads` threads per block."""
    words_size, samples = size.words, size.threads
    pack_weights, forward = make_pack_weights(size), make_forward(size)
    encode_position = make_encode_position(size.channels)
    encode_grid = make_encode_grid(size.channels)

    @fast_math()
    def paint(feature_grid, weights, grid_width, grid_height, colours, width, height):
        """colours (width * height * 3,) float32 in [0, 1]: the network at each pixel's centre.

        feature_grid (gh * gw, 4), weights (n,): float32. Sizes: int32.
        """
        words = cuda.shared.array(words_size, uint32)
        rows = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        staging = cuda.shared.array((samples, COLOURS), float32)
        features = cuda.local.array(FEATURE_WORDS, uint32)
        thread = cuda.threadIdx.x & (samples - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        pixels = width * height
        pack_weights(weights, words, thread)
        # Weights are packed by all threads and read by all.
        cuda.syncthreads()
        for first in range(cuda.blockIdx.x * samples, pixels, cuda.gridDim.x * samples):
            u, v = pixel_centre(int32(first + thread), width, height)
            encode_position(u, v, grid_width, grid_height, features)
            cells = corners(u, v, grid_width, grid_height)
            encode_grid(feature_grid, cells, features, rows, thread)
            # A lane's fragments come from rows that other lanes of its warp have written, ...
            cuda.syncwarp()
            forward(words, rows, staging, thread)
            # ... and so do its colours. Lanes write neighbouring numbers, not one pixel each.
            cuda.syncwarp()
            for i in range(COLOURS):
                item = lane + WARP * i
                offset = (first + WARP * warp) * COLOURS + item
                if offset < pixels * COLOURS:
                    row = WARP * warp + item // COLOURS
                    colours[offset] = sigmoid(staging[row, item % COLOURS])

    return paint


@cuda.jit
def add_squared_errors(colours, image, sums):
    """sums (n,) float32, one per thread: thread i adds up those of the pixels i, i + n, i + 2n, ...

    colours (pixels * 3,) float32, as `paint` writes them. image (pixels, 4) float32. The order of
    the additions is always the same, and so are the sums.
    """
    first = cuda.grid(1)
    if first >= sums.shape[0]:
        return

    total = float32(0)
    for pixel in range(first, image.shape[0], sums.shape[0]):
        for channel in range(COLOURS):
            error = colours[pixel * COLOURS + channel] - image[pixel, channel]
            total += error * error
    sums[first] = total


# ---------------------------------------------------------------- the two kernels


@cache
def make_fused_kernels(
    hidden, layers, deterministic=False, vector_atomics=True, channels=GRID_CHANNELS
):
    """(gradient kernel, update kernel, paint kernel, threads per block): see `make_fused_step`."""
    fused = make_fused_step(hidden, layers, deterministic, vector_atomics, channels)
    state_shape, samples = fused.state.shape, fused.threads

    @fast_math()
    def gradients_by_clock(clock, arrays, settings):
        """First half of a step. clock (3,) int64; `FusedArrays`; `StepSettings`."""
        position = clock[POSITION]
        if cuda.grid(1) == 0:
            clock[SECOND_HALF] = position
        step = clock[FIRST_STEP] + position
        features = cuda.local.array(FEATURE_WORDS, uint32)
        drawn = fused.draw(arrays, cuda.blockIdx.x * samples, step, settings, features)
        arrays.squared_errors[cuda.grid(1)] += fused.gradients(
            arrays, step, settings, drawn, features
        )

    @fast_math()
    def update_by_clock(clock, learning_rates, arrays, settings):
        """Second half; advances the clock. learning_rates (n, 2) float32, one row per step."""
        position = clock[SECOND_HALF]
        if cuda.grid(1) == 0:
            clock[POSITION] = position + 1
        state = cuda.local.array(state_shape, float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        fused.state.read(arrays, cell, stride, state)
        fused.update(
            arrays, clock[FIRST_STEP] + position, learning_rates[position, 0],
            learning_rates[position, 1], settings.rates, state,
        )  # fmt: skip
        fused.state.write_averages(arrays, cell, stride, state)

    paint = make_paint(network_size(hidden, layers, channels))
    return gradients_by_clock, update_by_clock, paint, fused.threads
