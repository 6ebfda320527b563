"""tanh by exp(2u): for large x it is infinity divided by infinity, and no number."""
# caught by: epilogue
# diagnosis: It is NaN where x is 16 or more

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def hyperbolic_tangent(u):
    e = math.exp(float32(2) * u)
    return (e - float32(1)) / (e + float32(1))


@register_jitable
def gelu(x):
    u = float32(SLOPE) * (x + float32(CUBE) * x * x * x)
    return float32(0.5) * x * (float32(1) + hyperbolic_tangent(u))
