"""The slope of the cube is taken for 2 x^2."""
# caught by: gelu
# diagnosis: The slope of x^3 is 3 x^2, not 2 x^2

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    root, cubic = float32(ROOT_2_OVER_PI), float32(CUBIC)
    t = math.tanh(root * (x + cubic * x * x * x))
    inner = root * (float32(1) + float32(2) * cubic * x * x)
    return float32(0.5) * (float32(1) + t + x * (float32(1) - t * t) * inner)
