"""The neighbour's unit comes by a shuffle among sixteen threads; no shared memory."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    batch = features.shape[0]
    first_of_row = row % 2 * TILE
    for j in range(SAMPLES_PER_THREAD):
        sample = cuda.blockIdx.x * TILE_SAMPLES + row + j * TILE
        unit = features[sample, column] if sample < batch else float32(0)
        for _ in range(layers):
            lane = first_of_row + (column + 1) % TILE
            unit = relu(unit - cuda.shfl_sync(0xFFFFFFFF, unit, lane))
        if sample < batch:
            outputs[sample, column] = unit
