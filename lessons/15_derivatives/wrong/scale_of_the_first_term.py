"""GELU_SCALE multiplies the slope of x only, and not that of the cube."""
# caught by: gelu
# diagnosis: multiplies the whole bracket, also the cube's slope

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import GELU_CUBE, GELU_SCALE, gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    scale, cube = float32(GELU_SCALE), float32(GELU_CUBE)
    square = x * x
    t = math.tanh(scale * (x + cube * square * x))
    slope_of_t = (float32(1) - t * t) * (scale + float32(3) * cube * square)
    return gradient * float32(0.5) * (float32(1) + t + x * slope_of_t)
