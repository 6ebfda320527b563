"""Each block takes an equal share, rounded down: what is left over is never drawn."""
# caught by: batch
# diagnosis: the last 2 are left over

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    share = uv.shape[0] // cuda.gridDim.x
    first = cuda.blockIdx.x * share
    for sample in range(first + cuda.threadIdx.x, first + share, cuda.blockDim.x):
        u, v = random_uv(uint64(sample), step, seed)
        uv[sample, 0] = u
        uv[sample, 1] = v
        red, green, blue = bilinear(image, u, v)
        target[sample, 0] = red
        target[sample, 1] = green
        target[sample, 2] = blue
