"""tanh by exponentials, which overflow where GELU is straight."""
# caught by: gelu
# diagnosis: overflow

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
    e = math.exp(float32(2) * inner)
    t = (e - float32(1)) / (e + float32(1))
    return gradient * float32(0.5) * (float32(1) + t + x * (float32(1) - t * t) * slope)
