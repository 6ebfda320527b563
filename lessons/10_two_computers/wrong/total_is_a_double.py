"""The sum begins as 0.0, a number of 64 bits."""
# caught by: float32
# diagnosis: slow

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = 0.0
    for row in range(y * factor, (y + 1) * factor):
        for column in range(x * factor, (x + 1) * factor):
            total += image[row, column]
    small[y, x] = total / float32(factor * factor)
