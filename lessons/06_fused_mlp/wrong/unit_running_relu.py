"""The total goes through a ReLU in each round."""
# caught by: relu_unit
# diagnosis: running ReLU

from numba import cuda, float32

from kernels.config import (
    FEATURES,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
)
from kernels.field_math import relu, sigmoid


@cuda.jit
def relu_unit(sums, weights, outputs):
    tile = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = sums.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        s = row + j * TILE
        if first_sample + s < batch:
            tile[s, column] = relu(sums[first_sample + s, column])
        else:
            tile[s, column] = float32(0)
    cuda.syncthreads()
    s = row * TILE + column
    if s < TILE_SAMPLES and first_sample + s < batch:
        total = float32(0)
        for i in range(16):
            total = relu(total + tile[s, i] * weights[i])
        outputs[first_sample + s] = total
