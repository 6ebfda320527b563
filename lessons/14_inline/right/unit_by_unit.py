"""A unit after the other, its sum in a variable."""

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[layer, k] * weights[layer, k, unit]
        activations[layer + 1, unit] = max(total, float32(0))
