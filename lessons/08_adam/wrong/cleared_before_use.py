"""The gradient is cleared before it is used."""
# caught by: weights
# diagnosis: cleared too early

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS, THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)
    if i >= weights.shape[0]:
        return

    row = min(step, corrections.shape[0] - 1)
    grad_weights[i] = float32(0)
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
