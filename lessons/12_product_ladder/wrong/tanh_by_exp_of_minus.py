"""tanh by exp(-2u): far below zero it is infinity divided by infinity, and no number."""
# caught by: epilogue
# diagnosis: 16 below zero or more

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    u = float32(SLOPE) * (x + float32(CUBE) * x * x * x)
    e = math.exp(float32(-2) * u)
    tangent = (float32(1) - e) / (float32(1) + e)
    return float32(0.5) * x * (float32(1) + tangent)
