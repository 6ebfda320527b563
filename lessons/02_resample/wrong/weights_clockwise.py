"""The weights go clockwise around the point."""
# caught by: between_pixels
# diagnosis: top right, bottom right

from numba import float32
from numba.extending import register_jitable


@register_jitable
def corner_weights(x_fraction, y_fraction):
    one = float32(1)
    return (
        (one - x_fraction) * (one - y_fraction),
        x_fraction * (one - y_fraction),
        x_fraction * y_fraction,
        (one - x_fraction) * y_fraction,
    )
