"""Lesson 1: grayscale. A thread for every pixel.

Write `luminance` and `grayscale`; the story is in README.md beside this file.

    image (H, W, 3) float32 in [0, 1]  ->  gray (H, W) float32

Check your work with `python -m lessons check 1`.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@register_jitable
def luminance(red, green, blue):
    """Brightness of a colour as the eye weighs it (Rec. ITU-R BT.709 luma coefficients)."""
    raise NotImplementedError("write me")


@cuda.jit
def grayscale(image, gray):
    """gray (H, W) float32 from image (H, W, 3) float32; one thread per pixel."""
    raise NotImplementedError("write me")


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    """Run an image kernel with one thread for each pixel of `result`, in blocks of 16 x 16."""
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
