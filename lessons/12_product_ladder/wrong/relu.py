"""ReLU in the place of GELU."""
# caught by: epilogue
# diagnosis: relu

from numba import float32
from numba.extending import register_jitable


@register_jitable
def gelu(x):
    return max(x, float32(0))
