"""The slope of a product is taken for the product of both slopes."""
# caught by: gelu
# diagnosis: product of the slopes

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of
from kernels.field_math import GELU_CUBE, GELU_SCALE


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    inner = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    t = math.tanh(inner)
    d_inner = float32(GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * x * x)
    d_first = float32(0.5)
    d_second = (float32(1) - t * t) * d_inner
    return gradient * d_first * d_second
