"""Blocks as given, but 64 threads own four weights each."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    inputs = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    units = cuda.shared.array((TILE_SAMPLES, TILE), float32)
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
        inputs[local_sample, column] = activation
        units[local_sample, column] = delta
    cuda.syncthreads()
    totals = cuda.local.array(4, float32)
    if row < 4:
        for k in range(4):
            totals[k] = float32(0)
        for s in range(TILE_SAMPLES):
            delta = units[s, column]
            for k in range(4):
                totals[k] += inputs[s, row + 4 * k] * delta
        for k in range(4):
            cuda.atomic.add(grad_weights, (row + 4 * k, column), totals[k])
