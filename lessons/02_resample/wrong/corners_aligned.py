"""The first and the last pixel are put at 0 and 1."""
# caught by: upsample
# diagnosis: at x / (width - 1)

from numba import cuda, float32


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    if x < large.shape[1] and y < large.shape[0]:
        u = float32(x) / float32(max(1, large.shape[1] - 1))
        v = float32(y) / float32(max(1, large.shape[0] - 1))
        colour = bilinear(small, u, v)
        for c in range(3):
            large[y, x, c] = colour[c]
