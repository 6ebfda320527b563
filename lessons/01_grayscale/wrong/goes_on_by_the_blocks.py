"""The loops go on by the number of blocks, in place of the threads of the grid."""
# caught by: every_pixel
# diagnosis: goes on by cuda.gridDim

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    first_column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    first_row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    for row in range(first_row, gray.shape[0], cuda.gridDim.y):
        for column in range(first_column, gray.shape[1], cuda.gridDim.x):
            red = image[row, column, 0]
            green = image[row, column, 1]
            blue = image[row, column, 2]
            gray[row, column] = luminance(red, green, blue)
