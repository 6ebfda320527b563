"""The slope of a sine is a cosine: this is the sine again."""
# caught by: sine
# diagnosis: sine, not cosine

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import TURNS_PER_RADIAN, sine
from kernels.derivatives.registry import derivative_of
from kernels.field_math import sine_of_turns


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * sine_of_turns(x * float32(TURNS_PER_RADIAN))
