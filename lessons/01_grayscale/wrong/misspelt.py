"""The helper's name is misspelt in the kernel."""
# caught by: every_pixel
# diagnosis: did you mean `luminance`

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminence(image[y, x, 0], image[y, x, 1], image[y, x, 2])
