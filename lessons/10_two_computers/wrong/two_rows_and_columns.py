"""Two rows and columns of each square are added up, whatever the factor."""
# caught by: shrink
# diagnosis: two rows and columns

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    if y >= small.shape[0] or x >= small.shape[1]:
        return
    total = float32(0)
    for dy in range(2):
        for dx in range(2):
            total += image[y * factor + dy, x * factor + dx]
    small[y, x] = total / float32(factor * factor)
