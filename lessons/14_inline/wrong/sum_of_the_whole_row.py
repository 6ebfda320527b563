"""A sum goes over the pitch of 257 words, and not over the 256 pixels."""
# caught by: scatter
# diagnosis: PITCH makes a row one word longer

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import PITCH


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    sum0 = float32(0)
    sum1 = float32(0)
    p = 0
    while p + 1 < PITCH:
        sum0 += inputs[k, p] * deltas[unit, p]
        sum1 += inputs[k, p + 1] * deltas[unit, p + 1]
        p += 2
    while p < PITCH:
        sum0 += inputs[k, p] * deltas[unit, p]
        p += 1
    return sum0 + sum1
