"""Lesson 17: neighbours. What does a pixel mean? That depends on those around it.

Write the eight functions marked "write me"; the story is in README.md beside this file.

    images (B, H, W, C), filters (K, K, C, F), bias (F,)  ->  out (B, rows, columns, F)
    images  ->  pooled (B, H // 2, W // 2, C), winners
    deltas = dL/dout  ->  gradients of images; parts (chunks, K * K * C + 1, F) of those of filters

Check your work with `python -m lessons check 17`.
"""

import numpy as np
from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu
from kernels.neighbours.convolve import (
    CHANNELS,
    FETCHED_HEIGHT,
    FETCHED_WIDTH,
    FILTERS,
    PIECE_HEIGHT,
    PIECE_WIDTH,
    TAPS,
)
from kernels.neighbours.gradients import CHUNK
from kernels.neighbours.pool import NO_WINNER, WINDOW
from kernels.neighbours.product import DEPTH, PER_THREAD, PITCH, PIXELS, SIDE, launch_over_pixels


@register_jitable
def place_of(pixel, rows, columns):
    """(image, row, column) of a pixel, if those of all images are counted through."""
    return pixel // (rows * columns), pixel // columns % rows, pixel % columns


@register_jitable
def number_at(images, image, row, column, channel):
    """images[image, row, column, channel], or zero beyond the margin and beyond the last image."""
    if image < images.shape[0] and 0 <= row < images.shape[1] and 0 <= column < images.shape[2]:
        return images[image, row, column, channel]
    return float32(0)


@cuda.jit
def convolve_naive(images, filters, bias, stride, padding, out):
    """One thread per number of the result, in any blocks of one dimension; any sizes.

    images (B, H, W, C), filters (K, K, C, F), bias (F,), float32; stride, padding: whole numbers.
    Sets out (B, rows, columns, F); the filter of row y begins at the image's row
    y * stride - padding, and likewise for columns.
    """
    raise NotImplementedError("write me")


@cuda.jit
def convolve_tiled(images, filters, bias, out):
    """Filters of 3 x 3, stride 1, padding 1; blocks of PIECE_WIDTH x PIECE_HEIGHT threads.

    images (B, H, W, C), filters (3, 3, C, F), bias (F,), float32. Sets out (B, H, W, F). A thread
    has one pixel and FILTERS filters; z counts images, and for each the groups of filters.
    """
    raise NotImplementedError("write me")


def launch_convolve_naive(images, filters, bias, stride, padding, out, launch=on_gpu):
    blocks = blocks_for(out.size, BLOCK_THREADS)
    launch(convolve_naive, blocks, BLOCK_THREADS, images, filters, bias, stride, padding, out)


def launch_convolve_tiled(images, filters, bias, out, launch=on_gpu):
    count, rows, columns, filters_ = out.shape
    blocks = (
        blocks_for(columns, PIECE_WIDTH),
        blocks_for(rows, PIECE_HEIGHT),
        count * blocks_for(filters_, FILTERS),
    )
    launch(convolve_tiled, blocks, (PIECE_WIDTH, PIECE_HEIGHT), images, filters, bias, out)


@register_jitable
def tap_of(k, side, channels):
    """(ky, kx, channel) of number k of a patch, for filters of side x side places."""
    return k // channels // side, k // channels % side, k % channels


@cuda.jit(device=True)
def find_pixels(first, rows, columns, places):
    """Sets places (PER_THREAD, 3) int32: image, row and column of this thread's pixels.

    first: the block's first pixel. Thread (x, y) fetches for the pixels y, y + SIDE, ... of it.
    """
    for i in range(PER_THREAD):
        pixel = first + cuda.threadIdx.y + i * SIDE
        image, row, column = place_of(pixel, rows, columns)
        places[i, 0] = image
        places[i, 1] = row
        places[i, 2] = column


@cuda.jit(device=True)
def clear(sums):
    """Set sums (PER_THREAD,) to zero."""
    for i in range(PER_THREAD):
        sums[i] = float32(0)


@cuda.jit(device=True)
def add_patch_products(patches, weights, sums):
    """Add to sums (PER_THREAD,) the products of one round.

    patches (DEPTH, PITCH): the inner index is the row, the block's pixel the column. weights
    (DEPTH, SIDE). Thread (x, y) has the pixels y, y + SIDE, ... and the column x of weights.
    """
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for inner in range(DEPTH):
        weight = weights[inner, x]
        for i in range(PER_THREAD):
            sums[i] += patches[inner, y + i * SIDE] * weight


@cuda.jit
def convolve_as_product(images, filters, bias, stride, padding, out):
    """As `convolve_naive`; blocks of SIDE x SIDE threads for PIXELS pixels and SIDE filters each.

    Blocks count pixels along x, filters along y.
    """
    raise NotImplementedError("write me")


def launch_convolve_as_product(images, filters, bias, stride, padding, out, launch=on_gpu):
    launch_over_pixels(convolve_as_product, (images, filters, bias, stride, padding), out, launch)


@cuda.jit
def max_pool(images, least, pooled, winners):
    """The largest number of each window, if it is above `least`. One thread per number of `pooled`.

    images (B, H, W, C), float32; least: float32. Sets pooled (B, H // 2, W // 2, C), and winners,
    int32 of the same shape: 2 * row + column within the window, of equals the first; NO_WINNER
    where nothing is above `least`, and pooled is `least`.
    """
    raise NotImplementedError("write me")


@cuda.jit
def unpool(deltas, winners, gradients):
    """Back through `max_pool`: the winner gets the delta. One thread per number of `gradients`.

    deltas (B, H // 2, W // 2, C) float32, winners: as `max_pool` has set them. Sets gradients
    (B, H, W, C): zero for those that have not won, and those in no window.
    """
    raise NotImplementedError("write me")


@cuda.jit
def average_pool(images, pooled):
    """The mean of each window. One thread per number of `pooled` (B, H // 2, W // 2, C)."""
    raise NotImplementedError("write me")


def launch_max_pool(images, least, pooled, winners, launch=on_gpu):
    blocks = blocks_for(pooled.size, BLOCK_THREADS)
    launch(max_pool, blocks, BLOCK_THREADS, images, np.float32(least), pooled, winners)


def launch_unpool(deltas, winners, gradients, launch=on_gpu):
    blocks = blocks_for(gradients.size, BLOCK_THREADS)
    launch(unpool, blocks, BLOCK_THREADS, deltas, winners, gradients)


def launch_average_pool(images, pooled, launch=on_gpu):
    launch(average_pool, blocks_for(pooled.size, BLOCK_THREADS), BLOCK_THREADS, images, pooled)


@cuda.jit
def image_gradients(deltas, filters, stride, padding, gradients):
    """Back to the images of a convolution; blocks as those of `convolve_as_product`.

    deltas (B, rows, columns, F), filters (K, K, C, F), float32; stride, padding: as forward. Sets
    gradients (B, H, W, C). Blocks count pixels of `gradients` along x, its channels along y.
    """
    raise NotImplementedError("write me")


@cuda.jit
def filter_gradients(images, deltas, side, stride, padding, parts):
    """What the deltas of a chunk of pixels say about filters and bias; SIDE x SIDE threads.

    images (B, H, W, C), deltas (B, rows, columns, F), float32; side: K; stride, padding: as
    forward. Sets parts (chunks, K * K * C + 1, F): block z that of the pixels z * CHUNK to
    (z + 1) * CHUNK - 1. Row (ky * K + kx) * C + c is the weights of a tap; the last one the bias.
    Blocks count F along x, rows along y.
    """
    raise NotImplementedError("write me")


def launch_image_gradients(deltas, filters, stride, padding, gradients, launch=on_gpu):
    launch_over_pixels(image_gradients, (deltas, filters, stride, padding), gradients, launch)


def launch_filter_gradients(images, deltas, side, stride, padding, parts, launch=on_gpu):
    chunks, rows, number_of_filters = parts.shape
    blocks = blocks_for(number_of_filters, SIDE), blocks_for(rows, SIDE), chunks
    arguments = images, deltas, side, stride, padding, parts
    launch(filter_gradients, blocks, (SIDE, SIDE), *arguments)
