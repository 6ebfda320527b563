"""The draws are numbered through, step * B + sample, and the step is given as 0."""
# caught by: batch
# diagnosis: gets step * B + sample as the sample, 0 as the step

from numba import cuda, uint64

from kernels.field_math import bilinear, random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    i = cuda.grid(1)
    batch = uv.shape[0]
    if i >= batch:
        return
    draw = step * uint64(batch) + uint64(i)
    u, v = random_uv(draw, uint64(0), seed)
    red, green, blue = bilinear(image, u, v)
    uv[i, 0] = u
    uv[i, 1] = v
    target[i, 0] = red
    target[i, 1] = green
    target[i, 2] = blue
