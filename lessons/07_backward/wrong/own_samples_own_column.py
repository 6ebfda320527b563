"""No roles are exchanged: a thread adds up its own four samples, and its column."""
# caught by: add_weight_gradients
# diagnosis: own samples, own column

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    total = float32(0)
    for j in range(SAMPLES_PER_THREAD):
        sample = first_sample + row + j * TILE
        if sample < activations.shape[0]:
            total += activations[sample, column] * deltas[sample, column]
    cuda.atomic.add(grad_weights, (row, column), total)
