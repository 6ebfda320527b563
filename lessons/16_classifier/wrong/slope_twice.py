"""The second term of the slope lacks its half."""
# caught by: gelu
# diagnosis: half forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    inner = float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x)
    t = math.tanh(inner)
    inner_slope = float32(ROOT_2_OVER_PI) * (float32(1) + float32(3) * float32(CUBIC) * x * x)
    return float32(0.5) * (float32(1) + t) + x * (float32(1) - t * t) * inner_slope
