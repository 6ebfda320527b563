"""Whole images: to gray, down to the grid's size, and up again (the bilinear baseline).

    image (H, W, 3)  ->  gray (H, W);  small (h, w, 3);  large (H, W, 3)

The idea: one thread makes one pixel of the result, and reads what it needs. These kernels are where
the course begins, and they answer the question every result must face: what would plain
interpolation of a grid of the same size look like?
"""

from numba import cuda

from kernels.config import COLOURS, TILE
from kernels.field_math import area_average, bilinear, luminance, pixel_centre
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def grayscale(image, gray):
    """gray (H, W) float32 from image (H, W, 3) float32; one thread per pixel."""
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])


@cuda.jit
def downsample(image, small):
    """small (h, w, 3) float32: each pixel the mean of the area of `image` it covers."""
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return

    for channel in range(COLOURS):
        small[y, x, channel] = area_average(image, x, y, width, height, channel)


@cuda.jit
def upsample(small, large):
    """large (H, W, 3) float32: `small` sampled bilinearly at each pixel centre of `large`."""
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return

    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    """Run an image kernel with one thread for each pixel of `result`, in blocks of 16 x 16."""
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
