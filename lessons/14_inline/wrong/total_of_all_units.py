"""The total of a unit begins where that of the unit before has ended."""
# caught by: corners
# diagnosis: sum goes on

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    total = float32(0)
    for unit in range(units):
        total += weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[layer, k] * weights[layer, k, unit]
        activations[layer + 1, unit] = relu(total)
