"""The bracket is closed before the cube."""
# caught by: epilogue
# diagnosis: bracket closed too early

import math

from numba import float32
from numba.extending import register_jitable

from kernels.products.epilogue import CUBE, SLOPE


@register_jitable
def gelu(x):
    return (
        x
        * float32(0.5)
        * (float32(1) + math.tanh(float32(SLOPE) * (x + float32(CUBE)) * x * x * x))
    )
