"""(1 + tanh) / 2 is the share of x that passes; its slope is 2 share (1 - share)."""

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import GELU_CUBE, GELU_SCALE, gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    inner = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    slope = float32(GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * x * x)
    share = float32(0.5) + float32(0.5) * math.tanh(inner)
    return gradient * share * (float32(1) + float32(2) * x * (float32(1) - share) * slope)
