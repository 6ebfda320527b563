"""The 3 of the slope stands in the function, too."""
# caught by: gelu
# diagnosis: Inside of tanh stands 0.7979 x + 0.107 x^3

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    inner = float32(ROOT_2_OVER_PI) * x * (float32(1) + float32(3) * float32(CUBIC) * x * x)
    return float32(0.5) * x * (float32(1) + math.tanh(inner))
