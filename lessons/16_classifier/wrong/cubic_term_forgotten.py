"""The tangent of x alone: near 0 that makes no difference."""
# caught by: gelu
# diagnosis: cubic term forgotten

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import ROOT_2_OVER_PI


@register_jitable
def gelu(x):
    tangent = math.tanh(float32(ROOT_2_OVER_PI) * x)
    return float32(0.5) * (x + x * tangent)
