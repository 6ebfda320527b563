"""The samples are one long row: after unit 15 comes unit 0 of the next sample."""
# caught by: mix_units
# diagnosis: as if the samples were one long row

from numba import cuda, float32

from kernels.config import TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    flat = cuda.shared.array((2, 1024), float32)
    thread = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    first = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]
    for p in range(thread, 1024, 256):
        sample = first + p // TILE
        if sample < batch:
            flat[0, p] = features[sample, p % TILE]
        else:
            flat[0, p] = float32(0)
    cuda.syncthreads()
    for layer in range(layers):
        old = layer % 2
        for p in range(thread, 1024, 256):
            following = (p + 1) % 1024
            flat[1 - old, p] = relu(flat[old, p] - flat[old, following])
        cuda.syncthreads()
    for p in range(thread, 1024, 256):
        sample = first + p // TILE
        if sample < batch:
            outputs[sample, p % TILE] = flat[layers % 2, p]
