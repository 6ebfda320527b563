"""A layer leaves its units in registers: the next one subtracts the features' units."""
# caught by: mix_units
# diagnosis: neighbours of the features

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES


@cuda.jit
def mix_units(features, layers, outputs):
    tile = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    mine = cuda.local.array(SAMPLES_PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        s = y + j * TILE
        mine[j] = float32(0)
        if first + s < features.shape[0]:
            mine[j] = features[first + s, x]
        tile[s, x] = mine[j]
    cuda.syncthreads()
    for layer in range(layers):
        for j in range(SAMPLES_PER_THREAD):
            s = y + j * TILE
            mine[j] = max(float32(0), mine[j] - tile[s, (x + 1) % TILE])
    for j in range(SAMPLES_PER_THREAD):
        s = y + j * TILE
        if first + s < features.shape[0]:
            outputs[first + s, x] = mine[j]
