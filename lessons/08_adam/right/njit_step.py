"""Adam_step is njit."""

import math

from numba import float32, njit


@njit
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
