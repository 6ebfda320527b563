"""Lesson 10: two computers. What the host does while the device computes.

Write the ten functions marked "write me"; the story is in README.md beside this file.

    image (H, W)  ->  small (H // factor, W // factor)
    photo (H, W, 3)  ->  gray (H, W), half (H // 2, W // 2), quarter (H // 4, W // 4)

Check your work with `python -m lessons check 10`.
"""

import numpy as np
from numba import cuda, float32

from kernels.image_ops import grayscale
from kernels.launch import blocks_for, on_gpu
from kernels.transfers.host_code import BLOCK


def shrink_on_cpu(image, factor):
    """small (H // factor, W // factor) float32: means of factor x factor numbers of image (H, W).

    One loop after the other, on the host, in the order in which the kernel adds.
    """
    raise NotImplementedError("write me")


@cuda.jit
def shrink(image, small, factor):
    """The same as `shrink_on_cpu`, with one thread per number of `small`. factor: int."""
    raise NotImplementedError("write me")


def blocks_to_cover(size, block):
    """How many blocks cover a grid, rounded up in each direction.

    size: threads that are needed, (x, y) or (x, y, z). block: its shape, as many numbers. Returns
    a tuple of as many ints.
    """
    raise NotImplementedError("write me")


def launch_shrink(image, small, factor, block, launch=on_gpu):
    """block: its shape (x, y), such as those of BLOCK_SHAPES."""
    height, width = small.shape
    launch(shrink, blocks_to_cover((width, height), block), block, image, small, factor)


@cuda.jit
def tint(image, gains, tinted):
    """tinted (H, W, C): each channel of image (H, W, C) times its gain, at most 1; all float32.

    One thread per number: the grid has three directions.
    """
    raise NotImplementedError("write me")


def launch_tint(image, gains, tinted, launch=on_gpu):
    """Start `tint` with a thread for each number of tinted (H, W, C)."""
    raise NotImplementedError("write me")


def shrink_on_gpu(image, factor):
    """small (H // factor, W // factor) float32 of image (H, W) float32, both on the host."""
    raise NotImplementedError("write me")


def gray_in_a_queue(photos):
    """A list of gray (H, W) float32, one for each of photos (H, W, 3) float32; the host waits once.

    All work goes to one stream; the copies back go to pinned arrays.
    """
    raise NotImplementedError("write me")


def gray_in_turns(photos):
    """The same list as that of `gray_in_a_queue`; one photograph is copied while another is made
    gray: they take turns in two streams.

    The photographs are pinned as long as that takes, so that the device copies by itself.
    """
    raise NotImplementedError("write me")


def gray_half_quarter(photo):
    """(gray, half, quarter) float32 of photo (H, W, 3): half and quarter in streams of their own.

    Both are made of gray: the second stream waits for an event of the first one.
    """
    raise NotImplementedError("write me")


def timed_shrink(image, factor, launches):
    """(small, milliseconds per launch): `shrink` once, and then `launches` times by the clock.

    The first launch compiles the kernel, so it is not counted; neither are the copies.
    """
    raise NotImplementedError("write me")
