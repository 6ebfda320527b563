"""All sixteen threads of a sample add to its output, which nobody has set to zero."""
# caught by: relu_unit
# diagnosis: it has to be zero before

from numba import cuda

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    w = weights[column]
    for j in range(SAMPLES_PER_THREAD):
        sample = cuda.blockIdx.x * TILE_SAMPLES + row + j * TILE
        if sample < sums.shape[0]:
            cuda.atomic.add(outputs, sample, relu(sums[sample, column]) * w)
