"""Threads return where a sample lies beyond the batch: nobody owns their weights in that block."""
# caught by: add_weight_gradients
# diagnosis: full blocks only

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    a = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    d = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    start = cuda.blockIdx.x * TILE_SAMPLES
    for i in range(SAMPLES_PER_THREAD):
        local = row + i * TILE
        if start + local >= activations.shape[0]:
            return
        a[local, column] = activations[start + local, column]
        d[local, column] = deltas[start + local, column]
    cuda.syncthreads()
    total = float32(0)
    for s in range(TILE_SAMPLES):
        total += a[s, row] * d[s, column]
    cuda.atomic.add(grad_weights, (row, column), total)
