"""The colour of the nearest pixel instead of a blend."""
# caught by: batch
# diagnosis: nearest pixel

from numba import cuda, float32, uint64

from kernels.field_math import random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    u, v = random_uv(uint64(sample), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    row = int(v * float32(image.shape[0]))
    column = int(u * float32(image.shape[1]))
    red = image[row, column, 0]
    green = image[row, column, 1]
    blue = image[row, column, 2]
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue
