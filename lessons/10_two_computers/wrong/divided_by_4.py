"""The sum is divided by 4, whatever the factor."""
# caught by: shrink
# diagnosis: divided by 4

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    if y >= small.shape[0] or x >= small.shape[1]:
        return
    total = float32(0)
    for dy in range(factor):
        for dx in range(factor):
            total += image[y * factor + dy, x * factor + dx]
    small[y, x] = total / float32(4)
