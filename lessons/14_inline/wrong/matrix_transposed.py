"""The matrices are read along their other side."""
# caught by: layers
# diagnosis: matrices transposed

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    totals = cuda.local.array(UNITS, float32)
    for unit in range(units):
        totals[unit] = weights[layer, UNITS, unit]
    for k in range(UNITS):
        activation = activations[layer, k]
        for unit in range(units):
            totals[unit] += activation * weights[layer, unit, k]
    for unit in range(units):
        activations[layer + 1, unit] = relu(totals[unit])
