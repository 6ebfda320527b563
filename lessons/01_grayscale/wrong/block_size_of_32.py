"""The block is taken to be 32 threads wide."""
# caught by: many_blocks
# diagnosis: blocks missing

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
