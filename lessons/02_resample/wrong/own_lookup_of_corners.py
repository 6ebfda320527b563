"""A lookup of its own, in which the corner of a pixel stands for its centre, in both pictures."""
# caught by: upsample
# diagnosis: looked for at x * small_width / width

import math

from numba import cuda, float32, int32


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    if x >= large.shape[1] or y >= large.shape[0]:
        return
    sh = small.shape[0]
    sw = small.shape[1]
    # where in the small picture am I?
    sx = float32(x) * float32(sw) / float32(large.shape[1])
    sy = float32(y) * float32(sh) / float32(large.shape[0])
    left = int32(math.floor(sx))
    top = int32(math.floor(sy))
    right = min(left + 1, sw - 1)
    bottom = min(top + 1, sh - 1)
    w0, w1, w2, w3 = corner_weights(sx - float32(left), sy - float32(top))
    for c in range(3):
        large[y, x, c] = blend(small, top, bottom, left, right, w0, w1, w2, w3, c)
