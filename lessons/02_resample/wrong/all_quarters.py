"""All four corners count the same."""
# caught by: between_pixels
# diagnosis: all alike

from numba import float32
from numba.extending import register_jitable


@register_jitable
def corner_weights(x_fraction, y_fraction):
    return float32(0.25), float32(0.25), float32(0.25), float32(0.25)
