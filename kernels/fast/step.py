"""A whole training step in two parts, each of which a GPU can do without waiting inside.

    gradients:  seed, step, image, parameters  ->  gradient of the grid; of the weights, per block
    update:     gradients, Adam's state        ->  parameters

The idea: between the two parts every block must have finished, because Adam needs the sums of all
samples; within a part, no block needs another. So the whole GPU must wait twice per step and not
more often. The caller decides how blocks wait for each other: as two kernels of a CUDA graph
(`graph`), or at a barrier inside one kernel that runs all steps (`persistent`).

One thread takes one sample from its random numbers to its features (`sample`). Then its warp takes
32 samples through the network on tensor cores, and back (`mlp`). The second part is in `adam`.

Atomic additions end in a different order each time, and sums of floats depend on it. With
`deterministic`, the grid's gradients are added as integers, whose sums do not.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, uint32

from kernels.config import COLOURS, GRID_CHANNELS
from kernels.fast.adam import CellState, cell_state, make_update
from kernels.fast.mlp import make_finish_gradient, make_forward_backward, make_pack_weights
from kernels.fast.products import make_weight_gradients
from kernels.fast.sample import draw_sample, make_encoding, make_scatter
from kernels.fast.sizes import FEATURE_PITCH, network_size


class FusedStep(NamedTuple):
    """The two parts of a step as device functions, for one size of network."""

    threads: int  # per block; also its samples
    gradients: Callable
    update: Callable
    prepare_features: Callable  # of the block's first tile, before `gradients`
    cell_state: CellState


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
        make_gradients(size, scatter),
        make_update(size.threads, deterministic, channels),
        make_encoding(channels).prepare_features,
        cell_state(channels),
    )


def make_gradients(size, scatter):
    """The first part. size: `NetworkSize`. scatter: what `make_scatter` makes."""
    threads = samples = size.threads
    columns = size.columns
    _, prepare_features, encode_grid = make_encoding(size.channels)
    words_size, transposed_shape = size.words, size.transposed_shape
    relu_masks_shape = size.relu_masks_shape
    pack_weights, forward_backward = make_pack_weights(size), make_forward_backward(size)
    finish_gradient = make_finish_gradient(size)
    weight_gradients = make_weight_gradients(size)
    floats, write_weight_gradients = weight_gradients.floats, weight_gradients.write

    @cuda.jit(device=True)
    def gradients(arrays, step, settings, sample, corner, features):
        """Add all gradients of one step. step: int64, from 1.

        sample, corner, features: this thread's of the block's first tile, from `draw_sample` and
        `prepare_features`. Returns the sum of squared errors that this thread has seen.
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
        encode_grid(arrays.feature_grid, corner, features, rows, thread)
        pack_weights(arrays.weights, words, thread)
        stride = cuda.gridDim.x * samples
        first = cuda.blockIdx.x * samples
        while first < settings.batch:
            inside = first + thread < settings.batch
            # Weights are packed, rows are written, and all warps are done with the last tile.
            cuda.syncthreads()
            u, v, red, green, blue = sample
            squared_error += forward_backward(
                words, rows, staging, transposed, relu_masks, (red, green, blue), inside,
                weight_sums, thread,
            )  # fmt: skip
            # Additions take their time to arrive: they are sent off before the last products.
            if inside:
                scatter(
                    arrays.grad_feature_grid, u, v, settings.grid_width, settings.grid_height,
                    scale, staging, thread,
                )  # fmt: skip
            finish_gradient(transposed, weight_sums, thread)
            first += stride
            if first < settings.batch:
                sample = draw_sample(arrays, first, step, settings)
                corner = prepare_features(sample, settings, features)
                encode_grid(arrays.feature_grid, corner, features, rows, thread)
        # Blocks without samples have no row.
        if cuda.blockIdx.x * samples < settings.batch:
            write_weight_gradients(
                weight_sums, thread >> 5, thread & 31, scale, arrays.grad_weights, base
            )
        return squared_error

    return gradients
