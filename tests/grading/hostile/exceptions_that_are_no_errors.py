"""Exceptions that `except Exception` does not catch, in a group, from a launch function."""
# like: zeros

from numba import cuda

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        gray[y, x] = 0


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
    raise BaseExceptionGroup("ends", [KeyboardInterrupt(), SystemExit(0)])
