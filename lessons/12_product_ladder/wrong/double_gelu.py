"""The constants of GELU are doubles."""
# caught by: float32
# diagnosis: double

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    inside = SLOPE * (x + CUBE * x * x * x)
    return 0.5 * x * (float32(1) + math.tanh(inside))
