"""The slope of what is inside is multiplied again, though sine() takes radians."""
# caught by: sine
# diagnosis: per turn

import math

from numba import float32
from numba.extending import register_jitable

from kernels.derivatives.functions import TURNS_PER_RADIAN, sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    return gradient * math.cos(x) * float32(TURNS_PER_RADIAN)
