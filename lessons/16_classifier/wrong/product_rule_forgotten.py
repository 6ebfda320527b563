"""Only the factor x / 2 is differentiated, not the tangent."""
# caught by: gelu
# diagnosis: product rule forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x))
    return float32(0.5) * (float32(1) + tangent)
