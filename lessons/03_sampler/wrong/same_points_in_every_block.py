"""The random number is made from threadIdx: all blocks draw the same 128 points."""
# caught by: batch
# diagnosis: random_uv gets threadIdx.x

from numba import cuda, uint64

from kernels.field_math import bilinear, random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    u, v = random_uv(uint64(cuda.threadIdx.x), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue
