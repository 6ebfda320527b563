"""The colour is looked up at 1 - v, as if the image began at the bottom."""
# caught by: batch
# diagnosis: The image is asked at (u, 1 - v)

from numba import cuda, float32, uint64
from numba.extending import register_jitable

from kernels.field_math import bilinear


@register_jitable
def texture(image, s, t):
    return bilinear(image, s, float32(1) - t)


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    invocation = cuda.grid(1)
    if invocation >= uv.shape[0]:
        return
    s, t = random_uv(uint64(invocation), step, seed)
    rgb = texture(image, s, t)
    for c in range(3):
        target[invocation, c] = rgb[c]
    uv[invocation, 0], uv[invocation, 1] = s, t
