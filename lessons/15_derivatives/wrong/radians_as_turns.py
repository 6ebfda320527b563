"""x is in radians, sine_of_turns takes turns."""
# caught by: sine
# diagnosis: turns, not radians

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import sine
from kernels.derivatives.registry import derivative_of
from kernels.field_math import sine_of_turns


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * sine_of_turns(x + float32(0.25))
