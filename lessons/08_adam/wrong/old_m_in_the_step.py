"""The step uses m as it was."""
# caught by: one_step
# diagnosis: old m in the step

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS, THREADS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    new_m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, new_m, v
