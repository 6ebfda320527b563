"""Beyond the table the corrections are taken to be 1."""
# caught by: weights
# diagnosis: not the last row

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
    beyond = step >= corrections.shape[0]
    weights[i], m[i], v[i] = adam_step(
        weights[i],
        grad_weights[i],
        m[i],
        v[i],
        float32(1) if beyond else corrections[row, 0],
        float32(1) if beyond else corrections[row, 1],
        learning_rate,
        rates,
    )
    grad_weights[i] = float32(0)
