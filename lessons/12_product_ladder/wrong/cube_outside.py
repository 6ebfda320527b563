"""The cube is not multiplied by the slope."""
# caught by: epilogue
# diagnosis: slope for x only

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    inside = float32(SLOPE) * x + float32(CUBE) * x * x * x
    return float32(0.5) * x * (float32(1) + math.tanh(inside))
