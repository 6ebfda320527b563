"""Each block goes down the whole picture: all blocks of a column do the same."""
# caught by: one_thread_per_pixel
# diagnosis: written again and again

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    height, width = gray.shape
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if x >= width:
        return
    for y in range(cuda.threadIdx.y, height, cuda.blockDim.y):
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
