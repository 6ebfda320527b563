"""beta and 1 - beta are exchanged."""
# caught by: one_step
# diagnosis: forgets the wrong way

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = (float32(1) - rates.beta1) * m + rates.beta1 * gradient
    v = (float32(1) - rates.beta2) * v + rates.beta2 * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
