"""blockIdx times gridDim, not blockDim."""
# caught by: many_blocks
# diagnosis: gridDim

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x = cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.gridDim.y + cuda.threadIdx.y
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
