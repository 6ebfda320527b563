"""What ends a line for some, and not for Python; markup where the mistake is."""
# like: zeros

from numba import cuda

#  one  two  three   four


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
        gray[y, x] = 0 * luminance(red, green, blue)  # <script>alert(1)</script> [2J ‮
