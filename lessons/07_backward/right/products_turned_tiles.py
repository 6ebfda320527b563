"""The tiles are stored turned, a row for each number, and padded."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES

PITCH = TILE_SAMPLES + 1


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    inputs = cuda.shared.array((TILE, PITCH), float32)
    units = cuda.shared.array((TILE, PITCH), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        activation = float32(0)
        delta = float32(0)
        if sample < activations.shape[0]:
            activation = activations[sample, column]
            delta = deltas[sample, column]
        inputs[column, local_sample] = activation
        units[column, local_sample] = delta
    cuda.syncthreads()
    total = float32(0)
    for s in range(TILE_SAMPLES):
        total += inputs[row, s] * units[column, s]
    cuda.atomic.add(grad_weights, (row, column), total)
