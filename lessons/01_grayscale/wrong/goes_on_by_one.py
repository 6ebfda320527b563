"""Each thread goes on to the right, pixel by pixel, to the end of its row."""
# caught by: one_thread_per_pixel
# diagnosis: and goes on by 1

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y >= gray.shape[0]:
        return
    while x < gray.shape[1]:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
        x += 1
