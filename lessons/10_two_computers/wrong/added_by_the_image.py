"""A thread per number of the image adds its share to small: several threads add to one number."""
# caught by: shrink
# diagnosis: stores it once

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        row = y // factor
        column = x // factor
        if row < small.shape[0] and column < small.shape[1]:
            small[row, column] += image[y, x] / float32(factor * factor)
