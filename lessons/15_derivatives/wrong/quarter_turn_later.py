"""The cosine begins a quarter turn earlier, not later: the sign is reversed."""
# caught by: sine
# diagnosis: sign reversed

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import TURNS_PER_RADIAN, sine
from kernels.derivatives.registry import derivative_of
from kernels.field_math import sine_of_turns


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * sine_of_turns(x * float32(TURNS_PER_RADIAN) - float32(0.25))
