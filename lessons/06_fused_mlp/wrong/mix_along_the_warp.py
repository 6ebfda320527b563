"""The units are shuffled along the warp, and not within sixteen lanes."""
# caught by: mix_units
# diagnosis: as if the samples were one long row

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def mix_units(features, layers, outputs):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(SAMPLES_PER_THREAD):
        sample = cuda.blockIdx.x * TILE_SAMPLES + row + j * TILE
        unit = float32(0)
        if sample < features.shape[0]:
            unit = features[sample, column]
        for _ in range(layers):
            unit = relu(unit - cuda.shfl_down_sync(0xFFFFFFFF, unit, 1))
        if sample < features.shape[0]:
            outputs[sample, column] = unit
