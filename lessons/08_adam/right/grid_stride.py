"""Each thread moves several weights."""

import numpy as np
from numba import cuda, float32

from kernels.launch import on_gpu


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    row = min(step, corrections.shape[0] - 1)
    for i in range(cuda.grid(1), weights.shape[0], cuda.gridsize(1)):
        weights[i], m[i], v[i] = adam_step(
            weights[i],
            grad_weights[i],
            m[i],
            v[i],
            corrections[row, 0],
            corrections[row, 1],
            learning_rate,
            rates,
        )
        grad_weights[i] = float32(0)


def launch_adam_weights(
    weights, grad_weights, m, v, step, corrections, learning_rate, rates, launch=on_gpu
):
    step, learning_rate = np.int32(step), np.float32(learning_rate)
    launch(
        adam_weights, 1, 64,
        weights, grad_weights, m, v, step, corrections, learning_rate, rates,
    )  # fmt: skip
