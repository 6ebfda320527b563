"""One-dimensional: a thread's number is divided into row and column."""

from numba import cuda
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def grayscale(image, gray):
    i = cuda.grid(1)
    if i >= gray.size:
        return
    y, x = divmod(i, gray.shape[1])
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    launch(kernel, blocks_for(result.size, 256), 256, source, result)
