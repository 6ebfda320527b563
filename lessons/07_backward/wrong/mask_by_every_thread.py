"""Each thread goes over all units of its sample."""
# caught by: relu_backward
# diagnosis: Two threads meet

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)
from kernels.field_math import corner_weights, neighbours


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0]:
        return
    for unit in range(activations.shape[1]):
        if activations[sample, unit] > 0:
            activations[sample, unit] = gradients[sample, unit]
        else:
            activations[sample, unit] = 0
