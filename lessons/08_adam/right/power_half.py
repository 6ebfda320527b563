"""V ** 0.5 in float32."""

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = rates.beta2 * v + (float32(1) - rates.beta2) * gradient * gradient
    unbiased_m = m * correction_m
    unbiased_v = v * correction_v
    step = learning_rate * unbiased_m / (unbiased_v ** float32(0.5) + rates.epsilon)
    return parameter - step, m, v
