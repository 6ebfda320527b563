"""A thread per sample adds its 256 products one by one."""
# points: 9

from numba import cuda

from kernels.config import TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    thread = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    sample = cuda.blockIdx.x * TILE_SAMPLES + thread
    if thread >= TILE_SAMPLES or sample >= activations.shape[0]:
        return
    for i in range(TILE):
        for u in range(TILE):
            cuda.atomic.add(grad_weights, (i, u), activations[sample, i] * deltas[sample, u])
