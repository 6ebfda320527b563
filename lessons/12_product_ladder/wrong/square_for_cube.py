"""x * x in the place of x * x * x."""
# caught by: epilogue
# diagnosis: square, not cube

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    inside = float32(SLOPE) * (x + float32(CUBE) * x * x)
    return float32(0.5) * x * (float32(1) + math.tanh(inside))
