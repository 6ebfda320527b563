"""Row 0 is taken for the biases, and rows 1 to 16 for the matrix."""
# caught by: corners
# diagnosis: biases looked for in row 0

from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        acc = weights[layer, 0, unit]  # bias
        for k in range(UNITS):
            acc += activations[layer, k] * weights[layer, k + 1, unit]
        activations[layer + 1, unit] = relu(acc)
