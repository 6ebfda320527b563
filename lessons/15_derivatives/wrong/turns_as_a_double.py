"""TURNS_PER_RADIAN is a double."""
# caught by: float32
# diagnosis: double

from numba.extending import register_jitable

from kernels.derivatives.functions import TURNS_PER_RADIAN, sine
from kernels.derivatives.registry import derivative_of
from kernels.field_math import sine_of_turns


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * sine_of_turns(x * TURNS_PER_RADIAN + 0.25)
