"""One loop in place of two goes along the diagonal of the square."""
# caught by: shrink
# diagnosis: diagonal of each square

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = float32(0)
    for i in range(factor):
        total += image[y * factor + i, x * factor + i]
    small[y, x] = total / float32(factor)
