"""The tangent is won back from `gelu`, as 2 gelu(x) / x - 1: at 0 that is zero by zero."""
# caught by: gelu
# diagnosis: where x is 0

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def gelu_slope(x):
    tangent = float32(2) * gelu(x) / x - float32(1)
    inner = float32(ROOT_2_OVER_PI) * (float32(1) + float32(3) * float32(CUBIC) * x * x)
    return float32(0.5) * (float32(1) + tangent + x * (float32(1) - tangent * tangent) * inner)
