"""A grid-stride loop, and row views."""

from numba import cuda, uint64
from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    for sample in range(cuda.grid(1), uv.shape[0], cuda.gridsize(1)):
        point = uv[sample]
        colour = target[sample]
        point[0], point[1] = random_uv(uint64(sample), step, seed)
        colour[0], colour[1], colour[2] = bilinear(image, point[0], point[1])
