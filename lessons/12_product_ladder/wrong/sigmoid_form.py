"""Another approximation of GELU: x times a sigmoid."""
# caught by: epilogue
# diagnosis: sigmoid form

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def gelu(x):
    return x / (float32(1) + math.exp(float32(-1.702) * x))
