"""The last layer has no ReLU."""
# caught by: layers
# diagnosis: last ReLU forgotten

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
            totals[unit] += activation * weights[layer, k, unit]
    for unit in range(units):
        activations[layer + 1, unit] = relu(totals[unit]) if layer < 2 else totals[unit]
