"""v is taken for the variance: an average of the squared distance from m."""
# caught by: one_step
# diagnosis: spread around the old m

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    distance = gradient - m
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * distance * distance
    parameter -= learning_rate * (correction_m * m) / (math.sqrt(correction_v * v) + rates.epsilon)
    return parameter, m, v
