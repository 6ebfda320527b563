"""Where the network is asked: random pixels of a picture, or all of them in order.

    image (H, W, 3), seed, the step's number  ->  positions (B, 2), target (B, 3)

The idea: the middle of the picture is (0, 0), its edges are at -1 and 1. That is where a sine has
room on both sides. The middle of the pixel in column x is at 2 (x + 0.5) / W - 1.
"""

import numpy as np
from numba import cuda, float32, int32, uint64
from numba.extending import register_jitable

from kernels.config import COLOURS, THREADS
from kernels.field_math import random_uv
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import FIRST_STEP, SECOND_HALF


@register_jitable
def position(number, count):
    """The middle of pixel `number` of `count`, between -1 and 1."""
    return float32(2) * (float32(number) + float32(0.5)) / float32(count) - float32(1)


@cuda.jit
def random_pixels(image, seed, clock, positions, target):
    """Draw a batch, with replacement; one thread per sample.

    image: (H, W, 3) float32 in [0, 1]. seed: uint64. clock: (3,) int64, which step it is: see
    `kernels/plumbing/recording.py`. Writes positions (B, 2), x to the right and y down, and the
    pixels' colours, target (B, 3), float32.
    """
    sample = cuda.grid(1)
    if sample >= positions.shape[0]:
        return

    height, width = image.shape[0], image.shape[1]
    step = uint64(clock[FIRST_STEP] + clock[SECOND_HALF])
    u, v = random_uv(uint64(sample), step, seed)
    column = min(int32(u * float32(width)), width - 1)
    row = min(int32(v * float32(height)), height - 1)
    positions[sample, 0] = position(column, width)
    positions[sample, 1] = position(row, height)
    for channel in range(COLOURS):
        target[sample, channel] = image[row, column, channel]


@cuda.jit
def pixel_positions(first_pixel, width, height, positions):
    """Fill positions (B, 2) with the middles of pixels, row by row; one thread per pixel.

    first_pixel: int64. A thread whose pixel would lie below the picture writes a position of the
    last row; its colour is not used.
    """
    sample = cuda.grid(1)
    if sample >= positions.shape[0]:
        return

    pixel = first_pixel + sample
    positions[sample, 0] = position(pixel % width, width)
    positions[sample, 1] = position(min(pixel // width, height - 1), height)


def launch_random_pixels(image, seed, clock, positions, target, launch=on_gpu):
    blocks = blocks_for(positions.shape[0])
    launch(random_pixels, blocks, THREADS, image, np.uint64(seed), clock, positions, target)


def launch_pixel_positions(first_pixel, width, height, positions, launch=on_gpu):
    blocks = blocks_for(positions.shape[0])
    first_pixel, width, height = np.int64(first_pixel), np.int32(width), np.int32(height)
    launch(pixel_positions, blocks, THREADS, first_pixel, width, height, positions)
