"""Outputs are written over the inputs while others still need them."""
# caught by: corners
# diagnosis: stored over its inputs

from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[layer, k] * weights[layer, k, unit]
        activations[layer, unit] = relu(total)
    for unit in range(units):
        activations[layer + 1, unit] = activations[layer, unit]
