"""A thread per row: the first thread of each row of a block makes it all."""
# points: 2

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x > 0 or y >= gray.shape[0]:
        return
    for i in range(gray.shape[1]):
        gray[y, i] = luminance(image[y, i, 0], image[y, i, 1], image[y, i, 2])
