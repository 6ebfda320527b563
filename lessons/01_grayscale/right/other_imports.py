"""Other ways to import, a whole file."""
# whole file

import numba
import numba.cuda as nc
from numba import float32 as f32
from kernels.launch import blocks_for, on_gpu
import kernels.config as config


@numba.extending.register_jitable
def luminance(r, g, b):
    return f32(0.2126) * r + f32(0.7152) * g + f32(0.0722) * b


@nc.jit
def grayscale(image, gray):
    x = nc.blockIdx.x * nc.blockDim.x + nc.threadIdx.x
    y = nc.blockIdx.y * nc.blockDim.y + nc.threadIdx.y
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    tile = config.TILE
    launch(
        kernel, (blocks_for(width, tile), blocks_for(height, tile)), (tile, tile), source, result
    )
