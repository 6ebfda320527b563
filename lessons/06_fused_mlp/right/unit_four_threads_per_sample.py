"""Four threads add up a sample's products, and their sums meet in shared memory."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    partial = cuda.shared.array((TILE_SAMPLES, 5), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = sums.shape[0]
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            activations[local_sample, column] = relu(sums[sample, column])
    cuda.syncthreads()
    thread = row * TILE + column
    local_sample, part = thread // 4, thread % 4
    total = float32(0)
    if first_sample + local_sample < batch:
        for i in range(part, TILE, 4):
            total += activations[local_sample, i] * weights[i]
    partial[local_sample, part] = total
    cuda.syncthreads()
    sample = first_sample + thread
    if thread < TILE_SAMPLES and sample < batch:
        outputs[sample] = (
            partial[thread, 0] + partial[thread, 1] + partial[thread, 2] + partial[thread, 3]
        )
