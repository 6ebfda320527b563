"""Lesson 18: a palette. Which 32 colours paint a picture best?

Write the six functions marked "write me"; the story is in README.md beside this file.

    points (n, d), centres (k, d)  ->  labels (n,), distances (n,)
    points, labels                 ->  sums (k, d), counts (k,)  ->  centres (k, d)

Check your work with `python -m lessons check 18`.
"""

import math

from numba import cuda, float32, int32, int64, uint64
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.field_math import LOW_32_BITS, philox4x32
from kernels.launch import blocks_for, on_gpu
from kernels.palette.assign import MAX_NUMBERS
from kernels.palette.draw import NOBODY
from kernels.reductions.maximum import pair_of


@register_jitable
def squared_distance(points, point, numbers, first):
    """The squared distance between a point and a centre: float32.

    points: (n, d) float32. numbers: flat; those of the centre are numbers[first], and d - 1 more.
    """
    raise NotImplementedError("write me")


@cuda.jit
def assign(points, centres, labels, distances):
    """The nearest centre of every point, and its squared distance. One thread per point.

    points: (n, d), centres: (k, d) float32, at most MAX_NUMBERS numbers. Sets labels (n,) int32,
    from 0, the lowest of those equally near; and distances (n,) float32.
    """
    raise NotImplementedError("write me")


def launch_assign(points, centres, labels, distances, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(assign, blocks, BLOCK_THREADS, points, centres, labels, distances)


@cuda.jit
def accumulate(points, labels, sums, counts):
    """Add the points of every centre to its sums. One thread per point, then one per sum.

    points: (n, d) float32; labels: (n,) int32 in [0, k). Adds to sums (k, d) float32 and counts
    (k,) int32; a block of BLOCK_THREADS threads adds to each number once, or not at all.
    """
    raise NotImplementedError("write me")


@cuda.jit
def move(sums, counts, centres):
    """Move every centre to the mean of its points; one without points stays. A thread per number.

    sums: (k, d) float32, counts: (k,) int32; changes centres (k, d) float32.
    """
    raise NotImplementedError("write me")


def launch_accumulate(points, labels, sums, counts, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(accumulate, blocks, BLOCK_THREADS, points, labels, sums, counts)


def launch_move(sums, counts, centres, launch=on_gpu):
    blocks = blocks_for(centres.shape[0] * centres.shape[1], BLOCK_THREADS)
    launch(move, blocks, BLOCK_THREADS, sums, counts, centres)


@register_jitable
def ticket(distance, point, number, seed):
    """What a point draws to become centre `number`; the lowest ticket wins: float32, above 0.

    distance: float32, at least 0. point, number: whole numbers. seed: uint64.
    """
    raise NotImplementedError("write me")


@cuda.jit
def draw(points, centres, number, seed, distances, winners):
    """Draw the point that becomes centre `number`. One thread per point.

    points: (n, d), centres: (k, d) float32, of which those below `number` are there. seed: uint64.
    distances: (n,) float32, to the nearest of the centres below `number` - 1; becomes that to the
    nearest below `number`, and stays for number 0. winners: (k,) int64, NOBODY before; winners
    [number] becomes the pair of the lowest ticket and its point: see
    `kernels/reductions/maximum.py`.
    """
    raise NotImplementedError("write me")


def launch_draw(points, centres, number, seed, distances, winners, launch=on_gpu):
    blocks = blocks_for(points.shape[0], BLOCK_THREADS)
    launch(draw, blocks, BLOCK_THREADS, points, centres, number, seed, distances, winners)
