"""A whole training step in two parts, each of which a GPU can do without waiting inside.

    gradients:  seed, step, image, parameters  ->  gradient of the grid, one of the weights a block
    update:     gradients, Adam's state        ->  parameters

The idea: between the two parts every block must have finished, because Adam needs the sums of all
samples; within a part, no block needs another. So a step needs two meetings of the whole GPU and
not one more. How they meet is for others to say: as two kernels of a CUDA graph (`graph`), or
at a barrier inside one kernel that never ends (`persistent`).

A thread takes one sample from its random numbers to its features, as in `sampler` and `encode`,
and hands them to its warp, which goes through the network on tensor cores (`mlp_tensor_core`).
Image and grid are stored with four channels, the last one empty: a texel is then 16 bytes, which
are read, and added to, in one go.

Atomic additions end in a different order each time, and float sums depend on it. With
`deterministic`, the grid's gradients are added as whole numbers, whose sums do not.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, int32, int64, uint32, uint64

from kernels.config import COLOURS, FEATURES, FOURIER_OCTAVES
from kernels.field_math import (
    adam_step,
    corner_weights,
    neighbours,
    pixel_centre,
    random_uv,
    sine_of_turns,
)
from kernels.mlp_tensor_core import FEATURE_PITCH, TILES, WARP, make_mlp
from kernels.ptx import add_four, load_four, pack_halves, store_four

TEXEL = 4  # floats of a texel, of which three are used
GROUP = 16  # neighbouring weights that a block sums and updates together
FIXED_POINT = 2.0**32  # steps of a whole-number gradient in 1


class FusedArrays(NamedTuple):
    """What the fused kernels work on, in one argument. All float32 unless said."""

    image: Any  # (H, W, 4)
    feature_grid: Any  # (gh, gw, 4)
    grad_feature_grid: Any  # (gh, gw, 4); int64 if deterministic
    grid_m: Any  # (gh, gw, 4)
    grid_v: Any  # (gh, gw, 4)
    grid_steps: Any  # (gh, gw) int32
    weights: Any  # (n,)
    grad_weights: Any  # (blocks, n): a sum for each block
    weights_m: Any  # (n,)
    weights_v: Any  # (n,)
    corrections: Any  # (rows, 2), see `adam.bias_corrections`
    squared_errors: Any  # (threads of all blocks,): summed over steps


class StepSettings(NamedTuple):
    """Scalars of a run, for kernels."""

    seed: np.uint64
    batch: np.int32
    rates: Any  # `AdamRates`


class FusedStep(NamedTuple):
    """The two parts as device functions, and a kernel that paints, for one size of network."""

    threads: int  # a block; also its samples
    gradients: Any
    update: Any
    paint: Any


def with_four_channels(array):
    """(h, w, 3) -> (h, w, 4), the last channel zero."""
    return np.concatenate([array, np.zeros_like(array[:, :, :1])], axis=2)


# ---------------------------------------------------------------- one sample


@cuda.jit(device=True)
def bilinear_four(texture, u, v):
    """`field_math.bilinear` on a texture of four channels, four loads in all."""
    left, right, x_fraction = neighbours(u, texture.shape[1])
    top, bottom, y_fraction = neighbours(v, texture.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    r0, g0, b0, _ = load_four(texture, top, left)
    r1, g1, b1, _ = load_four(texture, top, right)
    r2, g2, b2, _ = load_four(texture, bottom, left)
    r3, g3, b3, _ = load_four(texture, bottom, right)
    return (
        w0 * r0 + w1 * r1 + w2 * r2 + w3 * r3,
        w0 * g0 + w1 * g1 + w2 * g2 + w3 * g3,
        w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3,
    )


@cuda.jit(device=True)
def encode_one(feature_grid, u, v, words, thread):
    """The sixteen features of `encode`, packed to eight words of a row of shared memory."""
    features = cuda.local.array(FEATURES, float32)
    features[0], features[1], features[2] = bilinear_four(feature_grid, u, v)
    _, _, x_fraction = neighbours(u, feature_grid.shape[1])
    _, _, y_fraction = neighbours(v, feature_grid.shape[0])
    features[3] = sine_of_turns(x_fraction)
    features[4] = sine_of_turns(y_fraction)
    channel = 5
    waves = u
    for _ in range(FOURIER_OCTAVES):
        features[channel] = sine_of_turns(waves)
        features[channel + 1] = sine_of_turns(waves + float32(0.25))
        channel += 2
        waves *= float32(2)
    waves = v
    for _ in range(FOURIER_OCTAVES):
        features[channel] = sine_of_turns(waves)
        features[channel + 1] = sine_of_turns(waves + float32(0.25))
        channel += 2
        waves *= float32(2)
    for padding in range(13, FEATURES):
        features[padding] = float32(1)
    for pair in range(FEATURES // 2):
        words[thread, pair] = pack_halves(features[2 * pair], features[2 * pair + 1])


@cuda.jit(device=True)
def add_floats(grad, row, column, weight, red, green, blue):
    add_four(grad, row, column, weight * red, weight * green, weight * blue, float32(0))


@cuda.jit(device=True)
def add_floats_singly(grad, row, column, weight, red, green, blue):
    """For GPUs before compute capability 9.0, which add one float at a time."""
    cuda.atomic.add(grad, (row, column, 0), weight * red)
    cuda.atomic.add(grad, (row, column, 1), weight * green)
    cuda.atomic.add(grad, (row, column, 2), weight * blue)


@cuda.jit(device=True)
def add_whole_numbers(grad, row, column, weight, red, green, blue):
    """Sums of whole numbers are the same in any order."""
    scale = weight * float32(FIXED_POINT)
    cuda.atomic.add(grad, (row, column, 0), int64(scale * red))
    cuda.atomic.add(grad, (row, column, 1), int64(scale * green))
    cuda.atomic.add(grad, (row, column, 2), int64(scale * blue))


def make_scatter(add):
    """`backward.scatter` for all three channels of a sample."""

    @cuda.jit(device=True)
    def scatter(grad, u, v, red, green, blue):
        left, right, x_fraction = neighbours(u, grad.shape[1])
        top, bottom, y_fraction = neighbours(v, grad.shape[0])
        w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
        add(grad, top, left, w0, red, green, blue)
        add(grad, top, right, w1, red, green, blue)
        add(grad, bottom, left, w2, red, green, blue)
        add(grad, bottom, right, w3, red, green, blue)

    return scatter


# ---------------------------------------------------------------- Adam


@cuda.jit(device=True)
def take_floats(grad, row, column):
    """A cell's gradient; the cell is cleared for the next step."""
    red, green, blue, _ = load_four(grad, row, column)
    if red != float32(0) or green != float32(0) or blue != float32(0):
        store_four(grad, row, column, float32(0), float32(0), float32(0), float32(0))
    return red, green, blue


@cuda.jit(device=True)
def take_whole_numbers(grad, row, column):
    unit = float32(1 / FIXED_POINT)
    red = float32(grad[row, column, 0]) * unit
    green = float32(grad[row, column, 1]) * unit
    blue = float32(grad[row, column, 2]) * unit
    for channel in range(COLOURS):
        grad[row, column, channel] = int64(0)
    return red, green, blue


def make_update_cell(take):
    @cuda.jit(device=True)
    def update_cell(arrays, cell, learning_rate, rates):
        """`adam.adam_grid` for one cell: one that no sample touched stays as it is."""
        width = arrays.grid_steps.shape[1]
        row, column = cell // width, cell % width
        red, green, blue = take(arrays.grad_feature_grid, row, column)
        if red == float32(0) and green == float32(0) and blue == float32(0):
            return
        p0, p1, p2, _ = load_four(arrays.feature_grid, row, column)
        m0, m1, m2, _ = load_four(arrays.grid_m, row, column)
        v0, v1, v2, _ = load_four(arrays.grid_v, row, column)
        step = arrays.grid_steps[row, column] + int32(1)
        arrays.grid_steps[row, column] = step
        entry = min(step, arrays.corrections.shape[0] - 1)
        for_m, for_v = arrays.corrections[entry, 0], arrays.corrections[entry, 1]
        p0, m0, v0 = adam_step(p0, red, m0, v0, for_m, for_v, learning_rate, rates)
        p1, m1, v1 = adam_step(p1, green, m1, v1, for_m, for_v, learning_rate, rates)
        p2, m2, v2 = adam_step(p2, blue, m2, v2, for_m, for_v, learning_rate, rates)
        store_four(arrays.feature_grid, row, column, p0, p1, p2, float32(0))
        store_four(arrays.grid_m, row, column, m0, m1, m2, float32(0))
        store_four(arrays.grid_v, row, column, v0, v1, v2, float32(0))

    return update_cell


def make_update_weights(threads):
    rows = threads // GROUP

    @cuda.jit(device=True)
    def update_weights(arrays, step, learning_rate, rates):
        """Sum the blocks' gradients, always in the same order, and move the weights.

        A block takes 16 neighbouring weights at a time; its threads stand in rows of 16 and read
        the sums of 8 blocks at once, so that every read fills two sectors of 32 bytes.
        """
        partial_sums = cuda.shared.array((rows, GROUP), float32)
        thread = cuda.threadIdx.x
        row, column = thread // GROUP, thread % GROUP
        blocks = arrays.grad_weights.shape[0]
        entry = min(step, arrays.corrections.shape[0] - 1)
        for group in range(cuda.blockIdx.x, arrays.weights.shape[0] // GROUP, cuda.gridDim.x):
            weight = group * GROUP + column
            total = float32(0)
            for block in range(row, blocks, rows):
                total += arrays.grad_weights[block, weight]
            partial_sums[row, column] = total
            # All rows must be there before they are summed ...
            cuda.syncthreads()
            if row == 0:
                gradient = float32(0)
                for other in range(rows):
                    gradient += partial_sums[other, column]
                arrays.weights[weight], arrays.weights_m[weight], arrays.weights_v[weight] = (
                    adam_step(
                        arrays.weights[weight],
                        gradient,
                        arrays.weights_m[weight],
                        arrays.weights_v[weight],
                        arrays.corrections[entry, 0],
                        arrays.corrections[entry, 1],
                        learning_rate,
                        rates,
                    )  # fmt: skip
                )
            # ... and have been summed before the next group's come.
            cuda.syncthreads()

    return update_weights


# ---------------------------------------------------------------- the two parts


@lru_cache(maxsize=None)
def make_fused_step(hidden, layers, deterministic=False, vector_atomics=True):
    """`FusedStep` for one size of network.

    vector_atomics: whether the GPU adds four floats at once (compute capability 9.0).
    """
    mlp = make_mlp(hidden, layers)
    pack_weights, forward, forward_backward = mlp.pack_weights, mlp.forward, mlp.forward_backward
    shape_words, shape_activations, shape_deltas = (
        mlp.shape_words, mlp.shape_activations, mlp.shape_deltas,
    )  # fmt: skip
    samples = threads = mlp.warps * WARP
    add = add_floats if vector_atomics else add_floats_singly
    scatter = make_scatter(add_whole_numbers if deterministic else add)
    update_cell = make_update_cell(take_whole_numbers if deterministic else take_floats)
    update_weights = make_update_weights(threads)

    @cuda.jit(device=True)
    def gradients(arrays, step, settings):
        """Part one. step: from 1. Returns the sum of squared errors that this thread has seen."""
        words = cuda.shared.array(shape_words, uint32)
        feature_words = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        exchange = cuda.shared.array((samples, COLOURS), float32)
        activations = cuda.shared.array(shape_activations, uint32)
        deltas = cuda.shared.array(shape_deltas, uint32)
        open_units = cuda.shared.array((layers, TILES, threads), uint32)

        thread = cuda.threadIdx.x
        warp, lane = thread // WARP, thread % WARP
        gradient = arrays.grad_weights[cuda.blockIdx.x]
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        squared_error = float32(0)
        pack_weights(arrays.weights, words, thread)
        for first in range(cuda.blockIdx.x * samples, settings.batch, cuda.gridDim.x * samples):
            count = min(int32(samples), settings.batch - first)
            u, v = random_uv(uint64(first + thread), uint64(step), settings.seed)
            exchange[thread, 0], exchange[thread, 1], exchange[thread, 2] = bilinear_four(
                arrays.image, u, v
            )
            encode_one(arrays.feature_grid, u, v, feature_words, thread)
            # Weights are packed, rows are written, and nobody is still busy with the last tile.
            cuda.syncthreads()
            begin = first == cuda.blockIdx.x * samples
            squared_error += forward_backward(
                words, feature_words, exchange, activations, deltas, open_units, count, scale,
                gradient, begin, warp, lane,
            )  # fmt: skip
            # The gradients of a sample's features come from other lanes of its warp.
            cuda.syncwarp()
            if thread < count:
                scatter(
                    arrays.grad_feature_grid, u, v,
                    exchange[thread, 0], exchange[thread, 1], exchange[thread, 2],
                )  # fmt: skip
        return squared_error

    @cuda.jit(device=True)
    def update(arrays, step, learning_rate_mlp, learning_rate_grid, rates):
        """Part two. All arguments as in `adam`."""
        update_weights(arrays, step, learning_rate_mlp, rates)
        cells = arrays.grid_steps.shape[0] * arrays.grid_steps.shape[1]
        for cell in range(cuda.grid(1), cells, cuda.gridsize(1)):
            update_cell(arrays, cell, learning_rate_grid, rates)

    @cuda.jit
    def paint(feature_grid, weights, colours, width, height):
        """colours (width * height, 3) float32 in [0, 1]: the network at each pixel's centre.

        feature_grid (gh, gw, 4), weights (n,): float32. width, height: int64.
        """
        words = cuda.shared.array(shape_words, uint32)
        feature_words = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        exchange = cuda.shared.array((samples, COLOURS), float32)
        thread = cuda.threadIdx.x
        warp, lane = thread // WARP, thread % WARP
        pixels = width * height
        pack_weights(weights, words, thread)
        # Weights are packed by all threads and read by all.
        cuda.syncthreads()
        for first in range(cuda.blockIdx.x * samples, pixels, cuda.gridDim.x * samples):
            u, v = pixel_centre(first + thread, width, height)
            encode_one(feature_grid, u, v, feature_words, thread)
            # A lane's fragments come from rows that other lanes of its warp have written, ...
            cuda.syncwarp()
            forward(words, feature_words, exchange, warp, lane)
            # ... and so do its colours.
            cuda.syncwarp()
            for item in range(lane, WARP * COLOURS, WARP):
                at = (first + WARP * warp) * COLOURS + item
                if at < pixels * COLOURS:
                    row = WARP * warp + item // COLOURS
                    colours[at // COLOURS, at % COLOURS] = exchange[row, item % COLOURS]

    return FusedStep(threads, gradients, update, paint)
