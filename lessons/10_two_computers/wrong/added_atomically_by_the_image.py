"""A thread per number of the image adds its share to small, atomically."""
# caught by: shrink
# diagnosis: atomics

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    row, column = y // factor, x // factor
    if row < small.shape[0] and column < small.shape[1]:
        cuda.atomic.add(small, (row, column), image[y, x] / float32(factor * factor))
