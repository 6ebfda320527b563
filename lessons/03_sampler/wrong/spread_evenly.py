"""The points are spread evenly, as the page proposes for later."""
# caught by: batch
# diagnosis: spread evenly

from numba import cuda, float32, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u, v = random_uv(uint64(sample), step, seed)
    u = (float32(sample) + u) / float32(uv.shape[0])
    uv[sample, 0] = u
    uv[sample, 1] = v
    colour = bilinear(image, u, v)
    for channel in range(3):
        target[sample, channel] = colour[channel]
