"""The factor is taken to be 2."""
# caught by: shrink
# diagnosis: a factor of 2

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = float32(0)
    for row in range(y * 2, (y + 1) * 2):
        for column in range(x * 2, (x + 1) * 2):
            total += image[row, column]
    small[y, x] = total / float32(4)
