"""Where the batch ends nothing is stored in the tile, and it is added up."""
# caught by: add_weight_gradients
# diagnosis: uninitialised

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
        if sample < activations.shape[0]:
            inputs[local_sample, column] = activations[sample, column]
            units[local_sample, column] = deltas[sample, column]
    cuda.syncthreads()
    total = float32(0)
    for s in range(TILE_SAMPLES):
        total += inputs[s, row] * units[s, column]
    cuda.atomic.add(grad_weights, (row, column), total)
