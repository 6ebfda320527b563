"""The sums begin at zero, without the biases."""
# caught by: layers
# diagnosis: biases forgotten

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    totals = cuda.local.array(UNITS, float32)
    for unit in range(units):
        totals[unit] = float32(0)
    for k in range(UNITS):
        activation = activations[layer, k]
        for unit in range(units):
            totals[unit] += activation * weights[layer, k, unit]
    for unit in range(units):
        activations[layer + 1, unit] = relu(totals[unit])
