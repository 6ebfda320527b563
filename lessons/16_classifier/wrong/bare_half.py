"""0.5 is a double, and so is everything that it multiplies."""
# caught by: float32
# diagnosis: slow

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x))
    return 0.5 * (x + x * tangent)
