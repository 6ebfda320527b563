"""v is the larger of the faded v and the gradient's size; the step still has a root."""
# caught by: one_step
# diagnosis: AdaMax

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = max(rates.beta2 * v, math.fabs(gradient))
    below = math.sqrt(correction_v * v) + rates.epsilon
    return parameter - learning_rate * (correction_m * m) / below, m, v
