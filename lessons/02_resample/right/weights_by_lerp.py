"""The weights, one made from the other."""

from numba import float32
from numba.extending import register_jitable


@register_jitable
def corner_weights(x_fraction, y_fraction):
    both = x_fraction * y_fraction
    return float32(1) - x_fraction - y_fraction + both, x_fraction - both, y_fraction - both, both
