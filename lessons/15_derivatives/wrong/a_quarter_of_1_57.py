"""The quarter turn is 1.57 radians."""
# caught by: sine
# diagnosis: quarter turn of 1.57

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import TURNS_PER_RADIAN, sine
from kernels.derivatives.registry import derivative_of
from kernels.field_math import sine_of_turns


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    turns = (x + float32(1.57)) * float32(TURNS_PER_RADIAN)
    return gradient * sine_of_turns(turns)
