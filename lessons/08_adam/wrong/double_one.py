"""A bare 1.0 turns the averages into doubles."""
# caught by: float32
# diagnosis: slow

import math

from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (1.0 - rates.beta1) * gradient
    v = rates.beta2 * v + (1.0 - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (math.sqrt(unbiased_v) + rates.epsilon)
    return parameter - step, m, v
