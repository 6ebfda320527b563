"""U and v are the first words of two samples, 2 i and 2 i + 1."""
# caught by: batch
# diagnosis: of other samples

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u = random_uv(uint64(2 * i), step, seed)[0]
    v = random_uv(uint64(2 * i + 1), step, seed)[0]
    uv[i, 0] = u
    uv[i, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[i, 0] = red
    target[i, 1] = green
    target[i, 2] = blue
