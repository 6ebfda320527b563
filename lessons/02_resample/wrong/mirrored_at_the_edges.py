"""upsample has a lookup of its own, in which the small picture is mirrored at its edges."""
# caught by: upsample
# diagnosis: the next ones inside are blended in, as in a mirror

import math

from numba import cuda, float32, int32


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    if y >= large.shape[0] or x >= large.shape[1]:
        return
    rows = small.shape[0]
    columns = small.shape[1]
    across = (float32(x) + float32(0.5)) * float32(columns) / float32(large.shape[1]) - float32(0.5)
    down = (float32(y) + float32(0.5)) * float32(rows) / float32(large.shape[0]) - float32(0.5)
    left = int32(math.floor(across))
    top = int32(math.floor(down))
    dx = across - float32(left)
    dy = down - float32(top)
    right = left + 1 if left + 1 < columns else 2 * (columns - 1) - (left + 1)
    bottom = top + 1 if top + 1 < rows else 2 * (rows - 1) - (top + 1)
    left = abs(left)
    top = abs(top)
    for c in range(3):
        above = small[top, left, c] * (float32(1) - dx) + small[top, right, c] * dx
        below = small[bottom, left, c] * (float32(1) - dx) + small[bottom, right, c] * dx
        large[y, x, c] = above * (float32(1) - dy) + below * dy
