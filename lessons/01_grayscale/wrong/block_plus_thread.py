"""The number of the block is added, and not multiplied."""
# caught by: many_blocks
# diagnosis: has to be multiplied

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x = cuda.blockIdx.x + cuda.threadIdx.x
    y = cuda.blockIdx.y + cuda.threadIdx.y
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
