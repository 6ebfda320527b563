"""Green goes into channel 0."""
# caught by: batch
# diagnosis: another order

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = random_uv(uint64(sample), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[sample, 0] = green
    target[sample, 1] = blue
    target[sample, 2] = red
