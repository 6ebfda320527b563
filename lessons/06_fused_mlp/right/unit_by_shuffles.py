"""Sixteen neighbouring threads add up their products by shuffles; no shared memory."""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.field_math import relu


@cuda.jit
def relu_unit(sums, weights, outputs):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(SAMPLES_PER_THREAD):
        sample = cuda.blockIdx.x * TILE_SAMPLES + row + j * TILE
        product = float32(0)
        if sample < sums.shape[0]:
            product = relu(sums[sample, column]) * weights[column]
        offset = 8
        while offset > 0:
            product += cuda.shfl_down_sync(0xFFFFFFFF, product, offset)
            offset //= 2
        if column == 0 and sample < sums.shape[0]:
            outputs[sample] = product
