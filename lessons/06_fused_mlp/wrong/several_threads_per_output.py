"""The thread's number is row + column * 4: several threads take one sample."""
# caught by: relu_unit
# diagnosis: same work again

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = sums.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        if first_sample + local_sample < batch:
            activations[local_sample, column] = relu(sums[first_sample + local_sample, column])
    cuda.syncthreads()
    local_sample = row + column * SAMPLES_PER_THREAD
    sample = first_sample + local_sample
    if local_sample < TILE_SAMPLES and sample < batch:
        total = float32(0)
        for i in range(TILE):
            total += activations[local_sample, i] * weights[i]
        outputs[sample] = total
