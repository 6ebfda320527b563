"""Samples beyond the batch are skipped while loading, and all 64 places are added up."""
# caught by: add_weight_gradients
# diagnosis: `continue` of line

from numba import cuda, float32

from kernels.config import (
    TILE,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    act = cuda.shared.array((TILE_SAMPLES, WEIGHT_PITCH), float32)
    dlt = cuda.shared.array((TILE_SAMPLES, WEIGHT_PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    n = activations.shape[0]
    base = cuda.blockIdx.x * TILE_SAMPLES

    for s in range(ty, TILE_SAMPLES, TILE):
        if base + s >= n:
            continue
        act[s, tx] = activations[base + s, tx]
        dlt[s, tx] = deltas[base + s, tx]
    cuda.syncthreads()

    acc = float32(0)
    for s in range(TILE_SAMPLES):
        acc += act[s, ty] * dlt[s, tx]
    cuda.atomic.add(grad_weights, (ty, tx), acc)
