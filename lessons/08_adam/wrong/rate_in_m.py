"""The learning rate is put into m."""
# caught by: one_step
# diagnosis: learning rate in m

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient * learning_rate
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    parameter -= (correction_m * m) / (math.sqrt(correction_v * v) + rates.epsilon)
    return parameter, m, v
