"""GELU as x times a sigmoid of twice the inner term: the same function."""

import math

from numba import float32
from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI


@register_jitable
def share(x):
    inner = float32(ROOT_2_OVER_PI) * x * (float32(1) + float32(CUBIC) * x * x)
    return float32(1) / (float32(1) + math.exp(float32(-2) * max(inner, float32(-40))))


@register_jitable
def gelu(x):
    return x * share(x)


@register_jitable
def gelu_slope(x):
    part = share(x)
    inner_slope = float32(2 * ROOT_2_OVER_PI) * (float32(1) + float32(3 * CUBIC) * x * x)
    return part + x * part * (float32(1) - part) * inner_slope
