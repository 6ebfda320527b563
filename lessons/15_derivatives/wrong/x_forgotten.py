"""The second part of the product rule lacks its factor x."""
# caught by: gelu
# diagnosis: x forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import GELU_CUBE, GELU_SCALE, gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    scale = float32(GELU_SCALE)
    cube = float32(GELU_CUBE)
    t = math.tanh(scale * (x + cube * x * x * x))
    d_inner = scale * (float32(1) + float32(3) * cube * x * x)
    slope = float32(0.5) * (float32(1) + t) + float32(0.5) * (float32(1) - t * t) * d_inner
    return gradient * slope
