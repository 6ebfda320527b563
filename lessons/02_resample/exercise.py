"""Lesson 2: resample. A picture made smaller, made larger again, and what is lost.

Write the six functions marked "write me"; the story is in README.md beside this file.

    image (H, W, 3)  ->  small (h, w, 3)  ->  large (H, W, 3)

Check your work with `python -m lessons check 2`.
"""

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import COLOURS, TILE
from kernels.field_math import pixel_centre
from kernels.launch import blocks_for, on_gpu


@register_jitable
def neighbours(coordinate, size):
    """Find the two texels that a coordinate lies between, along one axis of `size` texels.

    Texel i covers [i / size, (i + 1) / size) and has its centre at (i + 0.5) / size.
    Returns (low, high, fraction): the two indices, clamped to the texture, and how far the
    coordinate is from the centre of `low` toward the centre of `high`, in [0, 1).
    """
    raise NotImplementedError("write me")


@register_jitable
def corner_weights(x_fraction, y_fraction):
    """Weights of the corners (top left, top right, bottom left, bottom right); they sum to 1."""
    raise NotImplementedError("write me")


@register_jitable
def bilinear(texture, u, v):
    """Sample a (height, width, 3) float32 texture at (u, v); edges clamp. Returns three values."""
    left, right, x_fraction = neighbours(u, texture.shape[1])
    top, bottom, y_fraction = neighbours(v, texture.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    return (
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 0),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 1),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 2),
    )


@register_jitable
def blend(texture, top, bottom, left, right, w0, w1, w2, w3, channel):
    """Weighted sum of one channel of the four corner texels."""
    return (
        w0 * texture[top, left, channel]
        + w1 * texture[top, right, channel]
        + w2 * texture[bottom, left, channel]
        + w3 * texture[bottom, right, channel]
    )


@register_jitable
def overlap(cell, cells, texel, texels):
    """Length of the overlap of cell `cell` of `cells` and texel `texel` of `texels`, in texels.

    Both divide the same axis evenly. Computed in whole numbers (units of 1 / cells of a texel)
    until the last division, so that rounding neither adds nor loses a thin overlap.
    """
    raise NotImplementedError("write me")


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    """Mean of one image channel over cell (column, row) of a columns x rows division.

    A pixel that the cell covers only in part counts in proportion, so no size has to be a multiple
    of another.
    """
    raise NotImplementedError("write me")


@cuda.jit
def downsample(image, small):
    """small (h, w, 3) float32: each pixel the mean of the area of `image` it covers."""
    raise NotImplementedError("write me")


@cuda.jit
def upsample(small, large):
    """large (H, W, 3) float32: `small` sampled bilinearly at each pixel centre of `large`."""
    raise NotImplementedError("write me")


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    """Run an image kernel with one thread for each pixel of `result`, in blocks of 16 x 16."""
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
