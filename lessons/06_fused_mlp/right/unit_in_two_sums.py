"""Two halves of a sum, mix with & 15."""

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
        even, odd = float32(0), float32(0)
        for i in range(0, 16, 2):
            even += tile[s, i] * weights[i]
            odd += tile[s, i + 1] * weights[i + 1]
        outputs[first_sample + s] = even + odd
