"""m is divided by the inverse of its correction."""

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m / (float32(1) / correction_m)
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
