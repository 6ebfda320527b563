"""tanh as a quotient of exponentials: they overflow where the tangent is 1."""
# caught by: gelu
# diagnosis: overflow

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    inner = float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x)
    up, down = float32(math.exp(inner)), float32(math.exp(-inner))
    return float32(0.5) * (x + x * (up - down) / (up + down))
