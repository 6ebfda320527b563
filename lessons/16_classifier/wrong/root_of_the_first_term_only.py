"""A pair of brackets is missing: the root multiplies x only."""
# caught by: gelu
# diagnosis: root of the first term only

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * x + float32(CUBIC) * x * x * x)
    return float32(0.5) * (x + x * tangent)
