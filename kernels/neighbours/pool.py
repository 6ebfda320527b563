"""Pooling: of four neighbours one number goes on, the largest, or their mean; or one of all.

    images (B, H, W, C)  ->  pooled (B, H // 2, W // 2, C), and which of the four was the largest
    deltas = dL/dpooled  ->  gradients (B, H, W, C)

The idea: where exactly a corner lies does not matter for what digit it is in. A window of 2 x 2
keeps the strongest answer, and the picture has a quarter of its pixels. The number that has won is
the only one that the result depends on: it gets the whole delta, the others nothing. So the winner
is stored, as 0 to 3. The race may begin at `least`: from 0, a window in which nothing is above zero
has no winner, and its result is 0. That is ReLU, for nothing.

Back, a thread asks for its own number of the image: which window is it in, and has it won? So every
number is written once, and nobody meets.

Source: Boureau, Ponce, LeCun, "A theoretical analysis of feature pooling in visual recognition",
ICML 2010.
"""

import numpy as np
from numba import cuda, float32, int32

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu
from kernels.neighbours.convolve import place_of

WINDOW = 2  # pixels on a side
NO_WINNER = -1


@cuda.jit
def max_pool(images, least, pooled, winners):
    """The largest number of each window, if it is above `least`. One thread per number of `pooled`.

    images (B, H, W, C), float32; least: float32. Sets pooled (B, H // 2, W // 2, C), and winners,
    int32 of the same shape: 2 * row + column within the window, of equals the first; NO_WINNER
    where nothing is above `least`, and pooled is `least`.
    """
    i = cuda.grid(1)
    if i >= pooled.size:
        return

    channel = i % pooled.shape[3]
    image, row, column = place_of(i // pooled.shape[3], pooled.shape[1], pooled.shape[2])
    largest, winner = least, int32(NO_WINNER)
    for k in range(WINDOW * WINDOW):
        y, x = WINDOW * row + k // WINDOW, WINDOW * column + k % WINDOW
        number = images[image, y, x, channel]
        if number > largest:
            largest, winner = number, int32(k)
    pooled[image, row, column, channel] = largest
    winners[image, row, column, channel] = winner


@cuda.jit
def unpool(deltas, winners, gradients):
    """Back through `max_pool`: the winner gets the delta. One thread per number of `gradients`.

    deltas (B, H // 2, W // 2, C) float32, winners: as `max_pool` has set them. Sets gradients
    (B, H, W, C): zero for those that have not won, and those in no window.
    """
    i = cuda.grid(1)
    if i >= gradients.size:
        return

    channel = i % gradients.shape[3]
    image, y, x = place_of(i // gradients.shape[3], gradients.shape[1], gradients.shape[2])
    row, column = y // WINDOW, x // WINDOW
    own = float32(0)
    # A last row of an odd height, or a last column, is in no window.
    if row < deltas.shape[1] and column < deltas.shape[2]:
        if winners[image, row, column, channel] == y % WINDOW * WINDOW + x % WINDOW:
            own = deltas[image, row, column, channel]
    gradients[image, y, x, channel] = own


@cuda.jit
def average_pool(images, pooled):
    """The mean of each window. One thread per number of `pooled` (B, H // 2, W // 2, C)."""
    i = cuda.grid(1)
    if i >= pooled.size:
        return

    channel = i % pooled.shape[3]
    image, row, column = place_of(i // pooled.shape[3], pooled.shape[1], pooled.shape[2])
    total = float32(0)
    for k in range(WINDOW * WINDOW):
        y, x = WINDOW * row + k // WINDOW, WINDOW * column + k % WINDOW
        total += images[image, y, x, channel]
    pooled[image, row, column, channel] = total * float32(1 / (WINDOW * WINDOW))


@cuda.jit
def global_average_pool(images, pooled):
    """The mean of each channel, wherever in the picture. One thread per number of `pooled` (B, C).

    images (B, H, W, C), float32. The threads of a warp read channels that lie side by side.
    """
    i = cuda.grid(1)
    if i >= pooled.size:
        return

    image, channel = i // pooled.shape[1], i % pooled.shape[1]
    height, width = images.shape[1], images.shape[2]
    total = float32(0)
    for y in range(height):
        of_row = float32(0)  # of its own: a long sum of small numbers would lose the last of them
        for x in range(width):
            of_row += images[image, y, x, channel]
        total += of_row
    pooled[image, channel] = total / float32(height * width)


def launch_max_pool(images, least, pooled, winners, launch=on_gpu):
    blocks = blocks_for(pooled.size, BLOCK_THREADS)
    launch(max_pool, blocks, BLOCK_THREADS, images, np.float32(least), pooled, winners)


def launch_unpool(deltas, winners, gradients, launch=on_gpu):
    blocks = blocks_for(gradients.size, BLOCK_THREADS)
    launch(unpool, blocks, BLOCK_THREADS, deltas, winners, gradients)


def launch_average_pool(images, pooled, launch=on_gpu):
    launch(average_pool, blocks_for(pooled.size, BLOCK_THREADS), BLOCK_THREADS, images, pooled)


def launch_global_average_pool(images, pooled, launch=on_gpu):
    blocks = blocks_for(pooled.size, BLOCK_THREADS)
    launch(global_average_pool, blocks, BLOCK_THREADS, images, pooled)
