"""Rates is indexed."""

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates[0] * m + (float32(1) - rates[0]) * gradient
    v = rates[1] * v + (float32(1) - rates[1]) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates[2])
    return parameter - step, m, v
