"""The rows of a matrix are taken for the units."""
# caught by: corners
# diagnosis: matrices transposed

from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[layer, k] * weights[layer, unit, k]
        activations[layer + 1, unit] = relu(total)
