"""The factor 1/2 is missing in the first part of the product rule."""
# caught by: gelu
# diagnosis: that of x / 2 counts 2 times

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of
from kernels.field_math import GELU_CUBE, GELU_SCALE


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    square = x * x
    t = math.tanh(float32(GELU_SCALE) * x * (float32(1) + float32(GELU_CUBE) * square))
    inner_slope = float32(GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * square)
    other = float32(0.5) * x * (float32(1) - t * t) * inner_slope
    return gradient * (float32(1) + t + other)
