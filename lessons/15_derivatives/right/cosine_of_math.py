"""The cosine of `math`."""

import math

from numba.extending import register_jitable

from kernels.derivatives.functions import sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * math.cos(x)
