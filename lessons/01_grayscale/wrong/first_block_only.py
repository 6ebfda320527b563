"""threadIdx counts inside the block: every block makes the same 16 x 16 pixels."""
# caught by: many_blocks
# diagnosis: first block only

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
