"""downsample sums the three channels itself."""

from numba import cuda, float32


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    rows, columns, _ = small.shape
    height, width, _ = image.shape
    if x >= columns or y >= rows:
        return
    red = green = blue = weights = float32(0)
    for j in range(y * height // rows, -(-(y + 1) * height // rows)):
        for i in range(x * width // columns, -(-(x + 1) * width // columns)):
            weight = overlap(x, columns, i, width) * overlap(y, rows, j, height)
            red += weight * image[j, i, 0]
            green += weight * image[j, i, 1]
            blue += weight * image[j, i, 2]
            weights += weight
    small[y, x, 0] = red / weights
    small[y, x, 1] = green / weights
    small[y, x, 2] = blue / weights
