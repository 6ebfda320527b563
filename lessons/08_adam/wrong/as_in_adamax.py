"""v is the larger of the faded v and the gradient's size, as in AdaMax."""
# caught by: one_step
# diagnosis: AdaMax

from numba import float32
from numba.extending import register_jitable


@register_jitable
def adam_step(parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates):
    m = rates.beta1 * m + (float32(1) - rates.beta1) * gradient
    v = max(rates.beta2 * v, abs(gradient))
    m_hat = correction_m * m
    parameter = parameter - learning_rate * m_hat / (v + rates.epsilon)
    return parameter, m, v
