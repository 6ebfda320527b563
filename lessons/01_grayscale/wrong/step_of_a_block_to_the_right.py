"""A loop to the right goes on by a block, not by the grid: threads share pixels."""
# caught by: one_thread_per_pixel
# diagnosis: so each thread goes on by a block, to the right (

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    start_x, start_y = cuda.grid(2)
    for row in range(start_y, gray.shape[0], cuda.gridsize(2)[1]):
        for col in range(start_x, gray.shape[1], cuda.blockDim.x):
            r = image[row, col, 0]
            g = image[row, col, 1]
            b = image[row, col, 2]
            gray[row, col] = luminance(r, g, b)
