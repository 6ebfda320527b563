"""No guard: the last block has threads without a sample."""
# caught by: batch
# diagnosis: out-of-bounds

from numba import cuda, uint64

from kernels.field_math import bilinear, random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)

    u, v = random_uv(uint64(sample), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue
