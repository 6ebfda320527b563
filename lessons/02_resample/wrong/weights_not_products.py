"""The weights are sums of the two fractions, not products."""
# caught by: between_pixels
# diagnosis: sums, not products

from numba import float32
from numba.extending import register_jitable


@register_jitable
def corner_weights(x_fraction, y_fraction):
    x_rest = float32(1) - x_fraction
    y_rest = float32(1) - y_fraction
    return (
        (x_rest + y_rest) * float32(0.25),
        (x_fraction + y_rest) * float32(0.25),
        (x_rest + y_fraction) * float32(0.25),
        (x_fraction + y_fraction) * float32(0.25),
    )
