"""The slope is measured as a difference of two values: in float32, three digits of it are left."""
# caught by: gelu
# diagnosis: measured, not computed

from numba import float32
from numba.extending import register_jitable


@register_jitable
def gelu_slope(x):
    h = float32(0.005)
    return (gelu(x + h) - gelu(x - h)) / (float32(2) * h)
