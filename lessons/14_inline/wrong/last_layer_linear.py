"""The last layer is linear, as output layers often are."""
# caught by: layers
# diagnosis: last ReLU forgotten

from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import ACTIVATIONS, UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[layer, k] * weights[layer, k, unit]
        if layer < ACTIVATIONS - 2:
            total = relu(total)
        activations[layer + 1, unit] = total
