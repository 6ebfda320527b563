"""0.9 and 0.99 are written in."""
# caught by: one_step
# diagnosis: betas written in: 0.9, 0.99

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS, THREADS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = float32(0.9) * m + float32(0.1) * gradient
    v = float32(0.99) * v + float32(0.01) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
