"""Two neighbouring samples share one call of Philox."""
# caught by: random_uv
# diagnosis: where the sample is even

from numba import cuda, float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, bilinear, philox4x32, pixel_centre


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    """Philox gives four words: enough for two points."""
    mask = uint64(LOW_32_BITS)
    w0, w1, w2, w3 = philox4x32(
        sample >> uint64(1),
        step & mask,
        step >> uint64(32),
        uint64(0),
        seed & mask,
        seed >> uint64(32),
    )
    odd = (sample & uint64(1)) != uint64(0)
    first = w2 if odd else w0
    second = w3 if odd else w1
    unit = float32(2.0**-24)
    return float32(first >> uint64(8)) * unit, float32(second >> uint64(8)) * unit


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = random_uv(uint64(i), step, seed)
    uv[i, 0], uv[i, 1] = u, v
    red, green, blue = bilinear(image, u, v)
    target[i, 0] = red
    target[i, 1] = green
    target[i, 2] = blue


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = pixel_centre(first_pixel + i, width, height)
    uv[i, 0] = u
    uv[i, 1] = v
