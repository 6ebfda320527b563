"""The samples are numbered from 1."""
# caught by: batch
# diagnosis: random_uv gets the sample + 1

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = random_uv(uint64(sample + 1), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue
