"""One thread per picture does the work of all."""
# points: 5

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    if cuda.grid(2) != (0, 0):
        return
    for y in range(small.shape[0]):
        for x in range(small.shape[1]):
            total = float32(0)
            for row in range(y * factor, (y + 1) * factor):
                for column in range(x * factor, (x + 1) * factor):
                    total += image[row, column]
            small[y, x] = total / float32(factor * factor)
