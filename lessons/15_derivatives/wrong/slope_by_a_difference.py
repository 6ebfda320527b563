"""The slope of GELU is measured as a difference of two values: in float32, few digits are left."""
# caught by: gelu
# diagnosis: measured, not computed

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    h = float32(0.01)
    return gradient * (gelu(x + h) - gelu(x - h)) / (float32(2) * h)
