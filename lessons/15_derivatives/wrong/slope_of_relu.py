"""GELU is nearly ReLU; its slope is not."""
# caught by: gelu
# diagnosis: slope of ReLU

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu
from kernels.derivatives.registry import derivative_of


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    return gradient if x > float32(0) else float32(0)
