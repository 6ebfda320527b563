"""The factor is x, and not x / 2."""
# caught by: gelu
# diagnosis: half forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * (x + float32(CUBIC) * x * x * x))
    return x + x * tangent
