"""Lesson 8: Adam. Move every parameter a small step against its gradient.

Write `adam_step`, `adam_weights` and `adam_grid`; the story is in README.md beside this file.

    parameters, gradients, m, v, steps  ->  parameters, m, v, steps; gradients cleared

Check your work with `python -m lessons check 8`.
"""

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS, THREADS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    """One Adam update of one parameter. Returns the new (parameter, m, v), all float32.

    `m` and `v` are running averages of the gradient and of its square. They start at zero, so
    early on they are too small by the factor 1 - beta^t; `correction_m` = 1 / (1 - beta1^t) and
    `correction_v` = 1 / (1 - beta2^t) undo that. `rates` holds beta1, beta2 and epsilon.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1.
    """
    raise NotImplementedError("write me")


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    """Update the network's weights; one thread per weight.

    weights, grad_weights, m, v: (n,) float32. step: int32, from 1. corrections: see
    `bias_corrections`. learning_rate: float32. rates: `AdamRates`.
    """
    raise NotImplementedError("write me")


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    """Update the touched cells of the feature grid; one thread per cell.

    feature_grid, grad_feature_grid, m, v: (gh, gw, 3) float32. steps: (gh, gw) int32, how often
    each cell has been updated. The rest as in `adam_weights`.
    """
    raise NotImplementedError("write me")


def launch_adam_weights(
    weights, grad_weights, m, v, step, corrections, learning_rate, rates, launch=on_gpu
):
    step, learning_rate = np.int32(step), np.float32(learning_rate)
    launch(
        adam_weights, blocks_for(weights.shape[0]), THREADS,
        weights, grad_weights, m, v, step, corrections, learning_rate, rates,
    )  # fmt: skip


def launch_adam_grid(
    feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates, launch=on_gpu
):
    learning_rate = np.float32(learning_rate)
    launch(
        adam_grid, blocks_for(steps.size), THREADS,
        feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates,
    )  # fmt: skip
