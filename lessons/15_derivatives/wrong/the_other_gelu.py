"""The slope of GELU with the error function: another function than gelu()."""
# caught by: gelu
# diagnosis: the other GELU

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    share = float32(0.5) * (float32(1) + math.erf(x * float32(math.sqrt(0.5))))
    bell = math.exp(float32(-0.5) * x * x) * float32(1 / math.sqrt(2 * math.pi))
    return gradient * (share + x * bell)
