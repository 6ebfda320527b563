"""A block that reaches beyond the picture returns as a whole."""
# caught by: every_pixel
# diagnosis: does it stop the whole block? It has to compare the thread's own index

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    rows = gray.shape[0]
    cols = gray.shape[1]

    col0 = cuda.blockIdx.x * cuda.blockDim.x
    row0 = cuda.blockIdx.y * cuda.blockDim.y
    if col0 + cuda.blockDim.x > cols:
        return
    if row0 + cuda.blockDim.y > rows:
        return

    col = col0 + cuda.threadIdx.x
    row = row0 + cuda.threadIdx.y
    r = image[row, col, 0]
    g = image[row, col, 1]
    b = image[row, col, 2]
    gray[row, col] = luminance(r, g, b)
