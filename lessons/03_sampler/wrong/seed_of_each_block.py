"""Each block has a seed of its own, and counts its samples by threadIdx."""
# caught by: batch
# diagnosis: the seed + blockIdx.x

from numba import cuda, uint64

from kernels.field_math import bilinear


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    my_seed = seed + uint64(cuda.blockIdx.x)
    u, v = random_uv(uint64(cuda.threadIdx.x), step, my_seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    colour = bilinear(image, u, v)
    for channel in range(3):
        target[sample, channel] = colour[channel]
