"""Derivatives that nobody worked out: finite differences, in the kernel."""
# points: 7

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import gelu, sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * (sine(x + float32(0.01)) - sine(x - float32(0.01))) * float32(50)


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    return gradient * (gelu(x + float32(0.01)) - gelu(x - float32(0.01))) * float32(50)
