"""Lesson 7: the backward pass. From the error back to every weight and every grid cell.

Write `backward` and `scatter`, after two small kernels to warm up; the story is in README.md beside
this file.

    relu_backward           gradients, activations (B, units)  ->  activations, now deltas
    add_weight_gradients    activations, deltas (B, 16)  ->  grad_weights (16, 16), added to

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
def relu_backward(gradients, activations):
    """Replace activations (B, units) by deltas: the gradient where one is above 0, elsewhere 0.

    gradients: (B, units), those of the activations. Both float32, of any size. One thread per
    element.
    """
    raise NotImplementedError("write me")


def launch_relu_backward(gradients, activations, launch=on_gpu):
    samples, units = activations.shape
    blocks = blocks_for(units, TILE), blocks_for(samples, TILE)
    launch(relu_backward, blocks, (TILE, TILE), gradients, activations)


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    """Add activations^T @ deltas to grad_weights (16, 16); both (B, 16), all float32.

    Blocks of 16 x 16 threads and 64 samples; one atomic addition per weight and block.
    """
    raise NotImplementedError("write me")


def launch_add_weight_gradients(activations, deltas, grad_weights, launch=on_gpu):
    blocks = blocks_for(activations.shape[0], TILE_SAMPLES)
    launch(add_weight_gradients, blocks, (TILE, TILE), activations, deltas, grad_weights)


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
