"""A barrier that only half of a block reaches."""
# like: honest

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if 16 < height < 100 and cuda.threadIdx.y < 8:
        cuda.syncthreads()
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
