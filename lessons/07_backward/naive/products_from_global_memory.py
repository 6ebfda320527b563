"""No shared memory: each thread reads its products from global memory."""
# points: 9

from numba import cuda, float32

from kernels.config import TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    total = float32(0)
    for sample in range(first_sample, min(first_sample + TILE_SAMPLES, len(deltas))):
        total += activations[sample, row] * deltas[sample, column]
    cuda.atomic.add(grad_weights, (row, column), total)
