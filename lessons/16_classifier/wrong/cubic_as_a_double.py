"""CUBIC is a double: float32(CUBIC) is none."""
# caught by: float32
# diagnosis: slow

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x))
    inner_slope = float32(ROOT_2_OVER_PI) * (float32(1) + 3 * CUBIC * x * x)
    rising = float32(0.5) * x * (float32(1) - tangent * tangent) * inner_slope
    return float32(0.5) * (float32(1) + tangent) + rising
