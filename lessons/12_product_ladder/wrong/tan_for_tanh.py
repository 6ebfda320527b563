"""math.tan in place of math.tanh."""
# caught by: epilogue
# diagnosis: tan, not tanh

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    return (
        x * float32(0.5) * (float32(1) + math.tan(float32(SLOPE) * (x + float32(CUBE) * x * x * x)))
    )
