"""One kernel in blocks of many shapes, and a kernel whose grid has three directions.

    image (H, W)  ->  small (H // factor, W // factor)
    image (H, W, C), gains (C,)  ->  tinted (H, W, C)

The idea: a grid can be cut into blocks of any shape, and the result is the same. The traffic is
not. The threads of a block are numbered along x first, then y, then z, and each 32 in a row are a
warp, which reads together. Memory comes in sectors of 32 bytes. So x should be the direction in
which the numbers lie side by side: in a gray picture the column, in a coloured one the channel.

`shrink_on_cpu` says what is right, in loops that anyone can read. A kernel is compared with it.

Source: NVIDIA, "CUDA C++ best practices guide", section "Coalesced access to global memory".
"""

import numpy as np
from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu

# From one thread to as many as a block may have: what the lesson tries.
BLOCK_SHAPES = (1, 1), (8, 8), (16, 16), (32, 32), (32, 1), (1, 32)


def toy_pattern(size=16):
    """(size, size) float32, in squares of 2 x 2 that hold 0, 1, 2, ...: easy to shrink by eye."""
    y, x = np.indices((size, size))
    return (x // 2 + size // 2 * (y // 2)).astype(np.float32)


def shrink_on_cpu(image, factor):
    """small (H // factor, W // factor) float32: means of factor x factor numbers of image (H, W).

    One loop after the other, on the host, in the order in which the kernel adds.
    """
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            total = float32(0)
            for row in range(y * factor, (y + 1) * factor):
                for column in range(x * factor, (x + 1) * factor):
                    total += image[row, column]
            small[y, x] = total / float32(factor * factor)
    return small


@cuda.jit
def shrink(image, small, factor):
    """The same as `shrink_on_cpu`, with one thread per number of `small`. factor: int."""
    x, y = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = float32(0)
    for row in range(y * factor, (y + 1) * factor):
        for column in range(x * factor, (x + 1) * factor):
            total += image[row, column]
    small[y, x] = total / float32(factor * factor)


def blocks_to_cover(size, block):
    """How many blocks cover a grid, rounded up in each direction.

    size: threads that are needed, (x, y) or (x, y, z). block: its shape, as many numbers. Returns
    a tuple of as many ints.
    """
    return tuple(blocks_for(items, threads) for items, threads in zip(size, block, strict=True))


def launch_shrink(image, small, factor, block, launch=on_gpu):
    """block: its shape (x, y), such as those of BLOCK_SHAPES."""
    height, width = small.shape
    launch(shrink, blocks_to_cover((width, height), block), block, image, small, factor)


@cuda.jit
def tint(image, gains, tinted):
    """tinted (H, W, C): each channel of image (H, W, C) times its gain, at most 1; all float32.

    One thread per number: the grid has three directions.
    """
    channel, x, y = cuda.grid(3)
    height, width, channels = tinted.shape
    if channel >= channels or x >= width or y >= height:
        return

    tinted[y, x, channel] = min(image[y, x, channel] * gains[channel], float32(1))


def launch_tint(image, gains, tinted, launch=on_gpu):
    """Start `tint` with a thread for each number of tinted (H, W, C)."""
    height, width, channels = tinted.shape
    # x counts what lies side by side in memory: 3 channels of 32 pixels are three warps.
    block = 3, 32, 2
    blocks = blocks_to_cover((channels, width, height), block)
    launch(tint, blocks, block, image, gains, tinted)
