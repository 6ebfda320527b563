"""The guard compares with the size of a block: only block 0 writes."""
# caught by: many_blocks
# diagnosis: what stops the others?

from numba import cuda

from kernels.config import TILE


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x >= TILE or y >= TILE or x >= gray.shape[1] or y >= gray.shape[0]:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
