"""The slope of tanh is taken at x, not at the inner value that tanh was given."""
# caught by: gelu
# diagnosis: slope of tanh with tanh(x)

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of
from kernels.field_math import GELU_CUBE, GELU_SCALE


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    scale, cube = float32(GELU_SCALE), float32(GELU_CUBE)
    half, one = float32(0.5), float32(1)
    inner = scale * (x + cube * x * x * x)
    d_inner = scale * (one + float32(3) * cube * x * x)
    outer = math.tanh(x)
    d_share = half * (one - outer * outer) * d_inner
    share = half * (one + math.tanh(inner))
    return (share + x * d_share) * gradient
