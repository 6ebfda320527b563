"""Each layer takes the first matrix."""
# caught by: layers
# diagnosis: always the first matrix

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    totals = cuda.local.array(UNITS, float32)
    for unit in range(units):
        totals[unit] = weights[0, UNITS, unit]
    for k in range(UNITS):
        activation = activations[layer, k]
        for unit in range(units):
            totals[unit] += activation * weights[0, k, unit]
    for unit in range(units):
        activations[layer + 1, unit] = relu(totals[unit])
