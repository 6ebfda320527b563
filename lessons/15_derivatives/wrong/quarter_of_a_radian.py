"""A quarter turn is added to x as 0.25, but x is in radians."""
# caught by: sine
# diagnosis: began 0.25 radians earlier

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    cosine = sine(x + float32(0.25))
    return gradient * cosine
