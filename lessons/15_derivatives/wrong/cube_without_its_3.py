"""The slope of x^3 is 3 x^2."""
# caught by: gelu
# diagnosis: 3 forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import GELU_CUBE, GELU_SCALE, gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    inner = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    slope = float32(GELU_SCALE) * (float32(1) + float32(GELU_CUBE) * x * x)
    t = math.tanh(inner)
    return gradient * float32(0.5) * (float32(1) + t + x * (float32(1) - t * t) * slope)
