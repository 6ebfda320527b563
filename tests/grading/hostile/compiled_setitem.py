"""In compiled code, a function of Python's own stores at an index that nobody looks at."""
# like: outside

import operator

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
    beside = operator.getitem(image, (y, x + 1, 0))  # a read beyond the last row
    if beside > 2:
        operator.setitem(gray, (y + 1_000_000, x), beside)
