"""Rates is unpacked."""

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    beta1, beta2, epsilon = rates
    m = beta1 * m + (float32(1) - beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
