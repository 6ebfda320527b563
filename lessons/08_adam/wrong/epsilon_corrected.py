"""epsilon is added before the correction, and corrected with the root."""
# caught by: one_step
# diagnosis: epsilon corrected

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    rate = learning_rate * correction_m / math.sqrt(correction_v)
    parameter -= rate * m / (math.sqrt(v) + rates.epsilon)
    return parameter, m, v
