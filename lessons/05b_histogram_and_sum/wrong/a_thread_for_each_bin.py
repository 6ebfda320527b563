"""A thread has a bin, and looks for its pixels among all."""
# caught by: global
# diagnosis: several threads go over the same ones

from numba import cuda, float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    if brightness >= float32(1):
        return int32(bins - 1)
    return int32(brightness * float32(bins))


@cuda.jit
def histogram_global(x, h):
    (n,) = x.shape
    (m,) = h.shape
    k = cuda.grid(1)
    if k >= m:
        return
    c = int32(0)
    for i in range(n):
        if bin_of(x[i], m) == k:
            c += int32(1)
    h[k] += c
