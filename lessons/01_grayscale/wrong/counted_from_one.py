"""Rows and columns are counted from 1, and the guard is that of a count from 0."""
# caught by: every_pixel
# diagnosis: adds 1 to the number of a thread

from numba import cuda, float32


@cuda.jit
def grayscale(image, gray):
    """gray (H, W) float32 from image (H, W, 3) float32; one thread per pixel."""
    nrow = gray.shape[0]
    ncol = gray.shape[1]
    # rows and columns are numbered 1, 2, 3, ...
    icol = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x + 1
    irow = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y + 1
    if icol >= ncol:
        return
    if irow >= nrow:
        return
    r = image[irow - 1, icol - 1, 0]
    g = image[irow - 1, icol - 1, 1]
    b = image[irow - 1, icol - 1, 2]
    gray[irow - 1, icol - 1] = luminance(r, g, b)
