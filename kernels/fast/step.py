"""A whole training step in two parts, each of which a GPU can do without waiting inside.

    gradients:  seed, step, image, parameters  ->  gradient of the grid, one of the weights a block
    update:     gradients, Adam's state        ->  parameters

The idea: between the two parts every block must have finished, because Adam needs the sums of all
samples; within a part, no block needs another. So a step needs two meetings of the whole GPU and
not one more. How they meet is for others to say: as two kernels of a CUDA graph (`graph`), or
at a barrier inside one kernel that never ends (`persistent`).

A thread takes one sample from its random numbers to its features (`fused_sample`) and hands them
to its warp, which goes through the network on tensor cores (`mlp_tensor_core`).

Atomic additions end in a different order each time, and sums of floats depend on it. With
`deterministic`, the grid's gradients are added as whole numbers, whose sums do not.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from kernels.config import COLOURS, FEATURES
from kernels.fast.adam import (
    CELLS_AT_ONCE,
    GROUP,
    STATE,
    clear_floats,
    clear_whole_numbers,
    make_move_cells,
    make_read_gradients,
    make_weight_updates,
    read_floats,
    read_state,
    read_whole_numbers,
    write_averages,
)
from kernels.fast.mlp import make_mlp
from kernels.fast.products import WARP
from kernels.fast.rows import FEATURE_PITCH
from kernels.fast.sample import (
    add_floats,
    add_floats_singly,
    add_whole_numbers,
    bilinear_four,
    corners,
    encode_grid,
    encode_position,
    make_scatter,
)
from kernels.field_math import pixel_centre, random_uv, sigmoid


class FusedArrays(NamedTuple):
    """What the fused kernels work on, in one argument. All float32 unless said."""

    image: Any  # (H * W, 4)
    feature_grid: Any  # (gh * gw, 4)
    grad_feature_grid: Any  # (gh * gw, 4); int64 if deterministic
    grid_m: Any  # (gh * gw, 4)
    grid_v: Any  # (gh * gw, 4); the fourth is how often the cell has been moved
    weights: Any  # (n,)
    grad_weights: Any  # (`rows_to_sum` * n,): a sum for each block, other rows zero
    weights_m: Any  # (n,)
    weights_v: Any  # (n,)
    corrections: Any  # (rows, 2), see `adam.bias_corrections`
    squared_errors: Any  # (threads of all blocks,): summed over steps


class StepSettings(NamedTuple):
    """Scalars of a run, for kernels."""

    seed: np.uint64
    batch: np.int32
    image_width: np.int32
    image_height: np.int32
    grid_width: np.int32
    grid_height: np.int32
    rates: Any  # `AdamRates`


class FusedStep(NamedTuple):
    """The two parts and what precedes them as device functions, and a kernel that paints, for one size of network."""

    threads: int  # a block; also its samples
    draw: Any
    prepare: Any
    gradients: Any
    update: Any
    paint: Any


@cache
def make_fused_step(hidden, layers, deterministic=False, vector_atomics=True):
    """`FusedStep` for one size of network.

    vector_atomics: whether the GPU adds four floats at once (compute capability 9.0).
    """
    mlp = make_mlp(hidden, layers)
    pack_weights, forward, forward_backward = mlp.pack_weights, mlp.forward, mlp.forward_backward
    finish_gradient = mlp.finish_gradient
    shape_words, shape_transposed, shape_open_units = mlp[1:4]
    samples = threads = mlp.warps * WARP
    add = add_floats if vector_atomics else add_floats_singly
    scatter = make_scatter(add_whole_numbers if deterministic else add)
    read_gradients = make_read_gradients(read_whole_numbers if deterministic else read_floats)
    move_cells = make_move_cells(clear_whole_numbers if deterministic else clear_floats)
    sum_weights, move_weights = make_weight_updates(threads)
    weight_rows = threads // GROUP

    @cuda.jit(device=True)
    def draw(arrays, first, step, settings):
        """This thread's sample of a tile: (u, v, red, green, blue). Depends on no parameter."""
        sample = uint64(first + cuda.threadIdx.x)
        u, v = random_uv(sample, uint64(step), settings.seed)
        corner = corners(u, v, settings.image_width, settings.image_height)
        red, green, blue = bilinear_four(arrays.image, corner)
        return u, v, red, green, blue

    @cuda.jit(device=True)
    def prepare(drawn, settings, features):
        """Those features that depend on no parameter; returns the `corners` for the others."""
        u, v = drawn[0], drawn[1]
        encode_position(u, v, settings.grid_width, settings.grid_height, features)
        return corners(u, v, settings.grid_width, settings.grid_height)

    @cuda.jit(device=True)
    def gradients(arrays, step, settings, drawn, corner, features):
        """Part one. step: from 1. drawn, corner, features: the first tile's, drawn and prepared.

        Returns the sum of squared errors that this thread has seen.
        """
        words = cuda.shared.array(shape_words, uint32)
        rows = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        exchange = cuda.shared.array((samples, COLOURS), float32)
        transposed = cuda.shared.array(shape_transposed, uint32, alignment=8)
        open_units = cuda.shared.array(shape_open_units, uint32)

        thread = cuda.threadIdx.x & (threads - 1)  # never negative: see `tensor_products`
        base = cuda.blockIdx.x * arrays.weights.shape[0]
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        encode_grid(arrays.feature_grid, corner, features, rows, thread)
        pack_weights(arrays.weights, words, thread)
        stride = cuda.gridDim.x * samples
        first = cuda.blockIdx.x * samples
        while first < settings.batch:
            inside = first + thread < settings.batch
            # Weights are packed, rows are written, and nobody is still busy with the last tile.
            cuda.syncthreads()
            begin = first < stride
            u, v, red, green, blue = drawn
            squared_error += forward_backward(
                words, rows, exchange, transposed, open_units, (red, green, blue), inside, scale,
                arrays.grad_weights, base, begin, thread,
            )  # fmt: skip
            # Additions take their time to arrive: they are sent off before the last products.
            if inside:
                scatter(
                    arrays.grad_feature_grid, u, v, settings.grid_width, settings.grid_height,
                    scale * exchange[thread, 0], scale * exchange[thread, 1],
                    scale * exchange[thread, 2],
                )  # fmt: skip
            finish_gradient(transposed, scale, arrays.grad_weights, base, begin, thread)
            first += stride
            if first < settings.batch:
                drawn = draw(arrays, first, step, settings)
                corner = prepare(drawn, settings, features)
                encode_grid(arrays.feature_grid, corner, features, rows, thread)
        return squared_error

    @cuda.jit(device=True)
    def update(arrays, step, learning_rate_mlp, learning_rate_grid, rates, state):
        """Part two. All arguments as in `adam`.

        state: what Adam keeps about this thread's first cells (see `read_state`). Its averages
        are not written to memory: the caller keeps them, or writes them.
        """
        gradients = cuda.local.array((CELLS_AT_ONCE, COLOURS), float32)
        partial_sums = cuda.shared.array((weight_rows, GROUP), float32)
        cell, stride, cells = cuda.grid(1), cuda.gridsize(1), arrays.feature_grid.shape[0]
        group, groups = cuda.blockIdx.x, arrays.weights.shape[0] // GROUP

        # Cells and weights have nothing to do with each other: while one waits for memory, the
        # other computes.
        read_gradients(arrays, cell, stride, gradients)
        now = float32(0), float32(0), float32(0)
        if group < groups:
            now = sum_weights(arrays, group, partial_sums)
        move_cells(arrays, cell, stride, gradients, state, learning_rate_grid, rates)
        if group < groups:
            move_weights(arrays, group, now, partial_sums, step, learning_rate_mlp, rates)

        # What is left, if the grid is large or the blocks are few.
        rest = cuda.local.array((CELLS_AT_ONCE, STATE), float32)
        cell += CELLS_AT_ONCE * stride
        while cell < cells:
            read_gradients(arrays, cell, stride, gradients)
            read_state(arrays, cell, stride, rest)
            move_cells(arrays, cell, stride, gradients, rest, learning_rate_grid, rates)
            write_averages(arrays, cell, stride, rest)
            cell += CELLS_AT_ONCE * stride
        group += cuda.gridDim.x
        while group < groups:
            # The last group's sums must have been read.
            cuda.syncthreads()
            now = sum_weights(arrays, group, partial_sums)
            move_weights(arrays, group, now, partial_sums, step, learning_rate_mlp, rates)
            group += cuda.gridDim.x

    @cuda.jit(fastmath=True)
    def paint(feature_grid, weights, grid_width, grid_height, colours, width, height):
        """colours (width * height, 3) float32 in [0, 1]: the network at each pixel's centre.

        feature_grid (gh * gw, 4), weights (n,): float32. Sizes: int32.
        """
        words = cuda.shared.array(shape_words, uint32)
        rows = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        exchange = cuda.shared.array((samples, COLOURS), float32)
        features = cuda.local.array(FEATURES, float32)
        thread = cuda.threadIdx.x & (threads - 1)
        warp, lane = thread >> 5, thread & 31
        pixels = width * height
        pack_weights(weights, words, thread)
        # Weights are packed by all threads and read by all.
        cuda.syncthreads()
        for first in range(cuda.blockIdx.x * samples, pixels, cuda.gridDim.x * samples):
            u, v = pixel_centre(int32(first + thread), width, height)
            encode_position(u, v, grid_width, grid_height, features)
            corner = corners(u, v, grid_width, grid_height)
            encode_grid(feature_grid, corner, features, rows, thread)
            # A lane's fragments come from rows that other lanes of its warp have written, ...
            cuda.syncwarp()
            forward(words, rows, exchange, thread)
            # ... and so do its colours. Lanes write neighbouring numbers, not a pixel each.
            cuda.syncwarp()
            for i in range(COLOURS):
                item = lane + WARP * i
                at = (first + WARP * warp) * COLOURS + item
                if at < pixels * COLOURS:
                    row = WARP * warp + item // COLOURS
                    colours[at] = sigmoid(exchange[row, item % COLOURS])

    return FusedStep(threads, draw, prepare, gradients, update, paint)


# ---------------------------------------------------------------- arrays


def flat_with_four_channels(array):
    """(h, w, 3 or 4) -> (h * w, 4) float32, a missing channel zero."""
    height, width, channels = array.shape
    padded = np.zeros((height, width, 4), np.float32)
    padded[:, :, :channels] = array
    return padded.reshape(-1, 4)


def fused_arrays(image, state, corrections, blocks, rows, threads, deterministic=False):
    """`FusedArrays` of NumPy arrays. rows: see `rows_to_sum`."""
    flat = flat_with_four_channels
    grid = flat(state.feature_grid)
    return FusedArrays(
        image=flat(image),
        feature_grid=grid,
        grad_feature_grid=np.zeros(grid.shape, np.int64 if deterministic else np.float32),
        grid_m=flat(state.grid_m),
        grid_v=flat(np.dstack([state.grid_v, state.grid_steps])),
        weights=state.weights.copy(),
        grad_weights=np.zeros(rows * len(state.weights), np.float32),
        weights_m=state.weights_m.copy(),
        weights_v=state.weights_v.copy(),
        corrections=corrections,
        squared_errors=np.zeros(blocks * threads, np.float32),
    )


def settings_of(config, image):
    """`StepSettings` for a run; image: (H, W, 3)."""
    height, width, _ = image.shape
    sizes = map(np.int32, (config.batch, width, height, config.grid_width, config.grid_height))
    return StepSettings(np.uint64(config.seed), *sizes, config.adam_rates)
