"""The biases are looked for behind as many rows as a layer has outputs."""
# caught by: layers
# diagnosis: The biases are taken from weights[layer, units, unit]

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = float32(0)
        for k in range(UNITS):
            total += weights[layer, k, unit] * activations[layer, k]
        activations[layer + 1, unit] = relu(total + weights[layer, units, unit])
