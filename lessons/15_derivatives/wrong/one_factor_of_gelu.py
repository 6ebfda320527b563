"""The product rule has two parts: only x / 2 is taken to grow."""
# caught by: gelu
# diagnosis: first factor only

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import GELU_CUBE, GELU_SCALE, gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    inner = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    return gradient * float32(0.5) * (float32(1) + math.tanh(inner))
