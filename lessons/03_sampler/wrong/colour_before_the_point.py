"""Looks up the colour at uv before the new point is written there."""
# caught by: batch
# diagnosis: before the kernel writes it

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    red, green, blue = bilinear(image, uv[sample, 0], uv[sample, 1])
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue
    u, v = random_uv(uint64(sample), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
