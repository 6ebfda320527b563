"""Each step has a seed of its own, seed + step, and the step is given as 0."""
# caught by: batch
# diagnosis: 0 as the step and seed + step as the seed

from numba import cuda, uint64

from kernels.field_math import bilinear, random_uv


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    row = cuda.grid(1)
    if row < uv.shape[0]:
        point = random_uv(uint64(row), uint64(0), seed + step)
        uv[row, 0] = point[0]
        uv[row, 1] = point[1]
        colour = bilinear(image, point[0], point[1])
        for channel in range(3):
            target[row, channel] = colour[channel]
