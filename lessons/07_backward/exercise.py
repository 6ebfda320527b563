"""Lesson 7: the backward pass. From the error back to every weight and every grid cell.

Write `backward` and `scatter`; the story is in README.md beside this file.

    uv, features, hidden, outputs, target, weights
        ->  grad_weights (n,), grad_feature_grid (gh, gw, 3), loss_sum (1,)      all added to

Check your work with `python -m lessons check 7`.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)
from kernels.field_math import corner_weights, neighbours
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    """Add one batch's gradients and loss; 16 x 16 threads and 64 samples per block.

    uv (B, 2), features (B, 16), hidden (layers, B, width), outputs (B, 16), target (B, 3),
    weights (n,): float32, as the earlier stages left them.
    Adds to grad_weights (n,), grad_feature_grid (gh, gw, 3) and loss_sum (1,): float32.
    """
    raise NotImplementedError("write me")


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    """Add one channel's gradient to the four grid cells that the encoding blended at (u, v).

    Other samples add to the same cells at the same time, hence the atomics.
    """
    raise NotImplementedError("write me")


def launch_backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    launch=on_gpu,
):  # fmt: skip
    blocks = blocks_for(uv.shape[0], TILE_SAMPLES)
    launch(
        backward, blocks, (TILE, TILE),
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    )  # fmt: skip
