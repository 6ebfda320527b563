"""The nearest corner gets the smallest weight."""
# caught by: between_pixels
# diagnosis: weights reversed

from numba import float32
from numba.extending import register_jitable


@register_jitable
def corner_weights(x_fraction, y_fraction):
    x_rest = float32(1) - x_fraction
    y_rest = float32(1) - y_fraction
    return x_fraction * y_fraction, x_rest * y_fraction, x_fraction * y_rest, x_rest * y_rest
