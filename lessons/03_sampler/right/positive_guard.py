"""A guard that encloses a loop over a tuple."""

from numba import cuda, uint64
from kernels.field_math import bilinear, pixel_centre


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample < len(uv):
        u, v = random_uv(uint64(sample), uint64(step), uint64(seed))
        uv[sample, 0], uv[sample, 1] = u, v
        channel = 0
        for value in bilinear(image, u, v):
            target[sample, channel] = value
            channel += 1


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i < uv.shape[0]:
        uv[i, 0], uv[i, 1] = pixel_centre(first_pixel + i, width, height)
