"""A grid-stride loop over both axes."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    height, width = gray.shape
    first_x, first_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(first_y, height, step_y):
        for x in range(first_x, width, step_x):
            gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
