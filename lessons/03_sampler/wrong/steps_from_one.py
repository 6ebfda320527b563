"""The steps are counted from 1."""
# caught by: batch
# diagnosis: the step + 1

from numba import cuda, uint64

from kernels.field_math import bilinear, random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = random_uv(uint64(sample), step + uint64(1), seed)
    uv[sample, 0], uv[sample, 1] = u, v
    target[sample, 0], target[sample, 1], target[sample, 2] = bilinear(image, u, v)
