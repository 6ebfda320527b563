"""Lesson 5b: histogram and sum. What many threads add up together.

Write the four functions marked "write me"; the story is in README.md beside this file.

    brightness (n,)  ->  counts (bins,) int32, total (1,) float32     both added to

Check your work with `python -m lessons check 5b`.
"""

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.histogram import MAX_BINS, PIXELS_PER_THREAD
from kernels.launch import blocks_for, on_gpu


@register_jitable
def bin_of(brightness, bins):
    """Which of `bins` equal parts of [0, 1] a brightness is in, from 0: int32. 1 is in the last."""
    raise NotImplementedError("write me")


@cuda.jit
def histogram_global(brightness, counts):
    """Add to counts (bins,) int32 how many of brightness (n,) float32 are in each bin.

    One thread per pixel, and one atomic addition to global memory for each.
    """
    raise NotImplementedError("write me")


@cuda.jit
def histogram_shared(brightness, counts):
    """The same, with at most one atomic addition to global memory per bin and block.

    Blocks of BLOCK_THREADS threads, each with several pixels; bins from 1 to MAX_BINS.
    """
    raise NotImplementedError("write me")


@cuda.jit
def sum_tree(values, total):
    """Add the sum of values (n,) to total (1,), both float32; one atomic addition per block.

    Blocks of BLOCK_THREADS threads, each with several values.
    """
    raise NotImplementedError("write me")


def launch_histogram_global(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS)
    launch(histogram_global, blocks, BLOCK_THREADS, brightness, counts)


def launch_histogram_shared(brightness, counts, launch=on_gpu):
    blocks = blocks_for(brightness.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(histogram_shared, blocks, BLOCK_THREADS, brightness, counts)


def launch_sum_tree(values, total, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS * PIXELS_PER_THREAD)
    launch(sum_tree, blocks, BLOCK_THREADS, values, total)
