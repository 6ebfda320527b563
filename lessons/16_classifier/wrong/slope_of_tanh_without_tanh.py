"""1 - inner * inner stands where 1 - tanh(inner) * tanh(inner) belongs."""
# caught by: gelu
# diagnosis: slope of tanh with inner

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    square = x * x
    inner = float32(ROOT_2_OVER_PI) * x * (float32(1) + float32(CUBIC) * square)
    steep = float32(ROOT_2_OVER_PI) * (float32(1) + float32(3 * CUBIC) * square)
    both = float32(1) + math.tanh(inner) + x * (float32(1) - inner * inner) * steep
    return float32(0.5) * both
