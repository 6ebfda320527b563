"""Thread 0 draws the whole batch."""
# points: 5

from numba import cuda, uint64
from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    if cuda.grid(1) > 0:
        return
    for sample in range(uv.shape[0]):
        u, v = random_uv(uint64(sample), step, seed)
        uv[sample, 0] = u
        uv[sample, 1] = v
        red, green, blue = bilinear(image, u, v)
        target[sample, 0] = red
        target[sample, 1] = green
        target[sample, 2] = blue
