"""Threads beyond the picture go on."""
# caught by: shrink
# diagnosis: out-of-bounds

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = small.shape

    total = float32(0)
    for row in range(y * factor, (y + 1) * factor):
        for column in range(x * factor, (x + 1) * factor):
            total += image[row, column]
    small[y, x] = total / float32(factor * factor)
