"""Adds up in small itself, which nobody has set to zero."""
# caught by: shrink
# diagnosis: not begun at zero

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    if x < small.shape[1] and y < small.shape[0]:
        count = float32(factor * factor)
        for row in range(y * factor, (y + 1) * factor):
            for col in range(x * factor, (x + 1) * factor):
                small[y, x] += image[row, col]
        small[y, x] /= count
