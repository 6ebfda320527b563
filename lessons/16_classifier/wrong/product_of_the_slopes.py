"""The derivative of a product is taken for the product of the derivatives."""
# caught by: gelu
# diagnosis: product of the slopes

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    inner = float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x)
    t = math.tanh(inner)
    d_left = float32(0.5)
    d_right = (float32(1) - t * t) * float32(ROOT_2_OVER_PI)
    d_right *= float32(1) + float32(3) * float32(CUBIC) * x * x
    return d_left * d_right
