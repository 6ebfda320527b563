"""Every layer takes the features as its inputs."""
# caught by: corners
# diagnosis: features again

from numba.extending import register_jitable

from kernels.field_math import relu
from kernels.inline.sizes import UNITS


@register_jitable
def forward_layer(activations, weights, layer, units):
    for unit in range(units):
        total = weights[layer, UNITS, unit]
        for k in range(UNITS):
            total += activations[0, k] * weights[layer, k, unit]
        activations[layer + 1, unit] = relu(total)
