"""A thread per channel, with a third axis of blocks."""

from numba import cuda
from kernels.field_math import pixel_centre
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def downsample(image, small):
    x, y, channel = cuda.grid(3)
    height, width, _ = small.shape
    if x >= width or y >= height or channel >= 3:
        return
    small[y, x, channel] = area_average(image, x, y, width, height, channel)


@cuda.jit
def upsample(small, large):
    x, y, channel = cuda.grid(3)
    height, width, _ = large.shape
    if x >= width or y >= height or channel >= 3:
        return
    u, v = pixel_centre(y * width + x, width, height)
    large[y, x, channel] = bilinear(small, u, v)[channel]


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    launch(kernel, (blocks_for(width, 8), blocks_for(height, 8), 3), (8, 8, 1), source, result)
