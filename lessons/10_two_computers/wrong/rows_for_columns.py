"""x and y are exchanged, so a warp goes down a column, and parts of the picture have no thread."""
# caught by: shrink
# diagnosis: tail not written

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    y, x = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = float32(0)
    for row in range(y * factor, (y + 1) * factor):
        for column in range(x * factor, (x + 1) * factor):
            total += image[row, column]
    small[y, x] = total / float32(factor * factor)
